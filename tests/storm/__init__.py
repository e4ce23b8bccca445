"""The storm: whole programs in virtual time, under faults and an order of tasks that a seed decides."""
