package probe

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// file notes the programs of a text whose own end shows at most so much.
func (r *reader) file(f *syntax.File, most shows) {
	r.settings(f)
	showing := map[*syntax.CallExpr]shows{}
	one := single(f)
	switch {
	case one != nil && steady(f.Stmts[0], one):
		showing[one] = most
	case !leaves(f):
		mark(f.Stmts, min(most, ifZero), showing)
	}
	r.compound = r.compound || one == nil
	syntax.Walk(f, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			r.args(words(call), showing[call], false)
		}
		return true
	})
}

func words(call *syntax.CallExpr) []arg {
	args := make([]arg, len(call.Args))
	for i, w := range call.Args {
		args[i].value, args[i].known = constant(w)
	}
	return args
}

// single returns the command of a text that is one and has no other inside.
func single(f *syntax.File) *syntax.CallExpr {
	statements := 0
	syntax.Walk(f, func(n syntax.Node) bool {
		if _, ok := n.(*syntax.Stmt); ok {
			statements++
		}
		return true
	})
	if statements != 1 {
		return nil
	}
	s := f.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || s.Negated || s.Background || s.Coprocess || s.Disown {
		return nil
	}
	return call
}

// steady reports whether the shell has nothing to do before the program starts in which it could fail: no word to
// expand, no variable to set, no file to open.
func steady(s *syntax.Stmt, call *syntax.CallExpr) bool {
	for _, a := range words(call) {
		if !a.known {
			return false
		}
	}
	for _, redirect := range s.Redirs {
		to, ok := constant(redirect.Word)
		output := redirect.N == nil || redirect.N.Value == "1" || redirect.N.Value == "2"
		switch redirect.Op {
		case syntax.RdrIn, syntax.RdrOut, syntax.AppOut:
			ok = ok && to == "/dev/null" && output
		case syntax.DplOut:
			ok = ok && (to == "1" || to == "2") && output
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return len(call.Assigns) == 0
}

// Commands after which a shell may end, or end otherwise, without a look at what follows.
var ending = strings.Fields("exit return trap set exec kill")

// leaves reports whether a text may end before its last command, or with another code than that one's.
func leaves(f *syntax.File) bool {
	final, found := last(f.Stmts), false
	syntax.Walk(f, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 || call == final {
			return true
		}
		args := words(call)
		for len(args) > 1 && args[0].known && args[0].value == "command" {
			args = args[1:]
		}
		found = found || !args[0].known || slices.Contains(ending, args[0].value)
		return true
	})
	return found
}

// last is the command that stands at the end of a list of statements.
func last(list []*syntax.Stmt) *syntax.CallExpr {
	if len(list) == 0 {
		return nil
	}
	switch c := list[len(list)-1].Cmd.(type) {
	case *syntax.CallExpr:
		return c
	case *syntax.BinaryCmd:
		return last([]*syntax.Stmt{c.Y})
	case *syntax.Subshell:
		return last(c.Stmts)
	case *syntax.Block:
		return last(c.Stmts)
	}
	return nil
}

// mark finds the commands that have run to their end if a list of statements ends well. Of two sides of || only one
// has, nobody sees which.
func mark(list []*syntax.Stmt, most shows, showing map[*syntax.CallExpr]shows) {
	if len(list) == 0 {
		return
	}
	s := list[len(list)-1]
	if s.Negated || s.Background || s.Coprocess || s.Disown {
		return
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		showing[c] = most
	case *syntax.BinaryCmd:
		if c.Op == syntax.AndStmt {
			mark([]*syntax.Stmt{c.X}, most, showing)
		}
		if c.Op != syntax.OrStmt {
			mark([]*syntax.Stmt{c.Y}, most, showing)
		}
	case *syntax.Subshell:
		mark(c.Stmts, most, showing)
	case *syntax.Block:
		mark(c.Stmts, most, showing)
	}
}
