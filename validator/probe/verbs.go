package probe

import (
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/pattern"
)

// claims tells of a verb, in any form, behind which stands what is true of something: "reports 3 lines".
func claims(verb string) bool {
	return strings.HasPrefix(verb, "report") || strings.HasPrefix(verb, "say") || strings.HasPrefix(verb, "mention")
}

// ofForm tells of an outcome that says how the output looks and not what is in it.
func ofForm(o Outcome) bool {
	switch o.(type) {
	case PrintsLines, PrintsSorted, PrintsJSON, PrintsSame:
		return true
	}
	return false
}

// fileName matches a text that could name a file.
var fileName = pattern.Regexp(`^\S*(/\S*|\.[A-Za-z][A-Za-z0-9]*)$`)

// maybeFile tells whether what a command is said to write, output, emit, produce or give could be a file.
func (p *parser) maybeFile(verb string, o Outcome) bool {
	writes := strings.HasPrefix(verb, "writ")
	to, printed := streamOf(o)
	switch o.(type) {
	case PrintsSame:
		return true
	case PrintsNothing, PrintsSomething:
		return to == AnyStream && (writes || p.at(p.i-1).lower != "output")
	}
	return printed && to == AnyStream && (writes || slices.ContainsFunc(textsOf(o), fileName().MatchString))
}

// textsOf are the texts that an outcome of what is printed holds.
func textsOf(o Outcome) []string {
	switch o := o.(type) {
	case Prints:
		return []string{o.Text}
	case DoesNotPrint:
		return []string{o.Text}
	case PrintsExactly:
		return []string{o.Text}
	case PrintsTimes:
		return []string{o.Text}
	case PrintsLine:
		return []string{o.Text}
	case PrintsOneOf:
		return o.Texts
	case PrintsInOrder:
		return o.Texts
	}
	return nil
}
