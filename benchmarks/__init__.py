"""The speed of kubeproto compared with other software, measured in the same run.

`python -m benchmarks` lists the rows. `python -m benchmarks NAME [NAME…] [--quick] [--json]` measures a row,
or all rows below a prefix (`decode`, `decode.pods`). The exact name of a row selects only that row.

Rules:

1. kubeproto and the baseline alternate for seven rounds, after a warm-up round. The two figures of a round
are compared; the ratio is the median over the rounds, and the spread is their minimum and maximum. A busy
moment of the machine affects a round, not the result.

2. A ratio is the factor by which kubeproto is better: a ratio above 1 is a win, for times and sizes as for
rates.

3. In a round each contender runs long enough for the clock, and the best of a few laps counts, because other
processes are not a property of a decoder. The garbage collector is on, as in every program: the work that it
causes is a property (a list of 10,000 pods takes `json.loads` four times as long with it). Objects that
existed before the round are hidden from it.

4. `--quick` uses less data. After three rounds, a row starts no further round once its time is over.

5. A row that cannot be measured (a peer cannot be installed, Go is missing) is reported on stderr and is
`null`, never a guess.

6. Peers run in separate processes and environments, in the versions that their files pin, with the same
stopwatch.

A new row is a `Row` in the `ROWS` of a module in `rows/`, which is found automatically. Modules import the
measured code in the `make` of a row, so that a missing package affects only its own rows.
"""
