"""How fast kubeproto is, beside something that everybody knows, in the same run.

`python -m benchmarks` lists the rows. `python -m benchmarks NAME [NAME…] [--quick] [--json]` measures a row,
or all rows below a prefix (`decode`, `decode.pods`). A name that is itself a row means that row alone.

House rules:

1. Ours and the baseline take turns, seven rounds of them, after one that does not count. What is compared is
   the two figures of one round; the ratio is the median over the rounds, the spread is the lowest and the
   highest. A machine that is busy for a moment spoils a round, not the result.
2. A ratio says how many times better ours is: above 1 we win, for times and sizes as for rates.
3. Inside a round each contender runs long enough for the clock, and the best of a few laps counts: what
   another process did in the meantime is not a property of a decoder. The garbage collector is on, as in
   every program: how much it has to walk is a property (a list of 10,000 pods takes `json.loads` four times
   as long with it). What was there before the round, it does not see.
4. `--quick` takes less data. A row whose time is up begins no further round, unless there were fewer than
   three.
5. What cannot be measured (a peer that cannot be installed, no Go) is said on stderr and is `null`, never a
   guess.
6. Peers run in processes and environments of their own, in versions that their files pin, under the same
   stopwatch.

A new row is a `Row` in the `ROWS` of a module in `rows/`; the modules are found by themselves. They import
what they measure inside the row's `make`, so that a part that is not installed costs its own rows only.
"""
