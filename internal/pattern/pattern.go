// Package pattern holds regular expressions that are compiled when they are first needed. The program starts itself
// several times for each box, and most of these processes need none of them.
package pattern

import (
	"regexp"
	"sync"
)

// Regexp gives the compiled expression, which is compiled once. It panics, as regexp.MustCompile does, where expr is
// none.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
