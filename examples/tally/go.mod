module example.org/tally

go 1.23
