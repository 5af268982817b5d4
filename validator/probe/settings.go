package probe

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// settings notes what a text does without a command: the functions that it declares, and where it sets PATH.
func (r *reader) settings(f *syntax.File) {
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			r.declared[n.Name.Value] = true
		case *syntax.Assign:
			if n.Name != nil && n.Name.Value == "PATH" {
				r.hide("it sets PATH")
			}
		case *syntax.WordIter:
			if n.Name.Value == "PATH" {
				r.hide("it sets PATH")
			}
		case *syntax.ParamExp:
			if n.Param != nil && n.Param.Value == "PATH" && n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
				r.hide("it may set PATH")
			}
		case *syntax.ArithmExp:
			syntax.Walk(n, func(inner syntax.Node) bool {
				if lit, ok := inner.(*syntax.Lit); ok && strings.Contains(lit.Value, "PATH") {
					r.hide("it may set PATH")
				}
				return true
			})
		}
		return true
	})
}

// builtin notes what a command of the shell itself does to the programs after it.
func (r *reader) builtin(name string, args []arg) {
	any := func(what func(string) bool) bool {
		for _, a := range args[1:] {
			if !a.known || what(a.value) {
				return true
			}
		}
		return false
	}
	sets := false
	switch name {
	case "cd", "chdir", "pushd", "popd":
		r.moved = true
	case "alias", "eval", ".", "source", "hash", "builtin", "let":
		r.hide("it uses " + name)
	case "export", "readonly", "typeset", "declare", "local":
		sets = any(func(s string) bool {
			return strings.HasPrefix(s, "PATH=") || strings.HasPrefix(s, "PATH+=") || strings.HasSuffix(s, "=PATH")
		})
	case "read", "getopts", "unset":
		sets = any(func(s string) bool { return s == "PATH" })
	case "set": // with -a the variables that follow reach the programs
		sets = any(func(s string) bool {
			return (strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+")) && strings.Contains(s, "a") || s == "allexport"
		})
	case "trap":
		sets = any(func(s string) bool { return strings.Contains(s, "PATH") })
	case "printf":
		sets = len(args) > 1 && args[1].known && strings.HasPrefix(args[1].value, "-v")
	}
	if sets {
		r.hide("it may set PATH")
	}
}
