package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/verdict"
)

func TestDescribe(t *testing.T) {
	refused := &verdict.Refusal{Reason: verdict.NoContract, Detail: "none", Hints: []string{"write one"}}
	for name, c := range map[string]struct {
		err  error
		code string
		exit exitCode
		want string
	}{
		"environment":    {fault.Env("disk_full", errors.New("no room"), "make some"), "disk_full", exitError, "error: no room\nhint: make some\n"},
		"usage, wrapped": {fmt.Errorf("reading: %w", fault.Usage("bad", errors.New("no"))), "bad", exitUsage, "error: reading: no\n"},
		"unexpected":     {errors.New("odd"), "internal", exitError, "error: odd\n"},
		"refused": {
			fmt.Errorf("x: %w", errors.Join(refused, &verdict.Refusal{Reason: verdict.DirtyWorktree, Detail: "a", Hints: []string{"write one"}})),
			"no_contract", exitRefused, "error: no_contract: none\nerror: dirty_worktree: a\nhint: write one\n",
		},
		"several lines": {errors.New("one\ntwo"), "internal", exitError, "error: one\n       two\n"},
		"hostile":       {errors.New("a\x1b[2J\u202eb\xffc\u0085"), "internal", exitError, "error: a\\x1b[2J\\u202eb\\xffc\\u0085\n"},
	} {
		f := describe(c.err, "show")
		var b strings.Builder
		f.print(&b)
		if f.code != c.code || f.exit != c.exit || b.String() != c.want {
			t.Errorf("%s: code %s, exit %d, words %q; want %s, %d, %q", name, f.code, f.exit, b.String(), c.code, c.exit, c.want)
		}
	}
}

func TestTheWorstOfSeveralDecides(t *testing.T) {
	for _, c := range []struct {
		codes []exitCode
		want  exitCode
	}{
		{nil, 0},
		{[]exitCode{0, 0}, 0},
		{[]exitCode{0, 3}, 3},
		{[]exitCode{3, 1, 0}, 1},
		{[]exitCode{1, 4, 3}, 4},
		{[]exitCode{4, 6, 1}, 6},
		{[]exitCode{4, 5}, 5},
		{[]exitCode{6, 5}, 6},
		{[]exitCode{0, 77}, 77},
	} {
		if got := worst(c.codes); got != c.want {
			t.Errorf("worst(%v) = %d, want %d", c.codes, got, c.want)
		}
	}
}
