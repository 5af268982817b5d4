// tally counts words, lines or bytes of files or of its input.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	flag.Usage = func() { fmt.Fprintln(os.Stderr, "usage: tally [-lines|-bytes] FILE...  (FILE - is the input)") }
	lines := flag.Bool("lines", false, "count lines")
	bytes := flag.Bool("bytes", false, "count bytes")
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	split := bufio.ScanWords
	if *lines {
		split = bufio.ScanLines
	}
	if *bytes {
		split = bufio.ScanBytes
	}
	failed := false
	for _, name := range flag.Args() {
		n, err := count(name, split)
		if err != nil {
			fmt.Fprintln(os.Stderr, "tally:", err)
			failed = true
			continue
		}
		fmt.Printf("%d %s\n", n, name)
	}
	if failed {
		os.Exit(1)
	}
}

func count(name string, split bufio.SplitFunc) (int, error) {
	var in io.Reader = os.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		in = f
	}
	s := bufio.NewScanner(in)
	s.Split(split)
	n := 0
	for s.Scan() {
		n++
	}
	return n, s.Err()
}
