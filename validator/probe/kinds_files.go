package probe

import "fmt"

// The outcomes that speak of files. All are looked at as the command's own user, after its end and, where that
// matters, before its start.
type (
	// Creates is met by a path that was not there before and is there afterwards.
	Creates struct {
		Type       string // "file", "dir", or "" for either
		Path       string
		Containing string // of a file; empty: anything
	}
	// DoesNotCreate is met by a path that is not there, before and afterwards.
	DoesNotCreate struct {
		Type string
		Path string
	}
	// CreatesNothing is met where nothing is below the directory that was not there before.
	CreatesNothing struct{}
	// Writes is met by a file that is there afterwards and was not before, or was another.
	Writes struct{ Path string }
	// Removes is met by a path that was there before and is not afterwards.
	Removes struct {
		Type string
		Path string
	}
	// Keeps is met by a path that was there before and is there afterwards.
	Keeps struct {
		Type string
		Path string
	}
	// Unchanged is met by a file that is afterwards what it was before.
	Unchanged struct{ Path string }
	// Changes is met by a file that was there before and holds something else afterwards.
	Changes struct{ Path string }
	// Exists is met by a path that is there afterwards.
	Exists struct {
		Type string
		Path string
	}
	// Missing is met by a path that is not there afterwards.
	Missing struct {
		Type string
		Path string
	}
	// Holds is met by a file for whose content the test holds, or with Not does not.
	Holds struct {
		Path string
		Test Test
		Not  bool
	}
	// IsEmpty is met by a file without content, or with Not by one with some.
	IsEmpty struct {
		Path string
		Not  bool
	}
	// HasMode is met by a path with these permission bits.
	HasMode struct {
		Path string
		Mode int
	}
	// IsExecutable is met by a file that somebody may execute, or with Not by one that nobody may.
	IsExecutable struct {
		Path string
		Not  bool
	}
	// HasLines is met by a file of so many lines.
	HasLines struct {
		Path  string
		Count Count
	}
	// HoldsJSON is met by a file that is such JSON.
	HoldsJSON struct {
		Path string
		JSON JSON
	}
)

func (o Creates) String() string {
	s := "creates " + noun(o.Type) + literal(o.Path)
	if o.Containing != "" {
		s += " containing " + literal(o.Containing)
	}
	return s
}
func (o DoesNotCreate) String() string { return "does not create " + noun(o.Type) + literal(o.Path) }
func (CreatesNothing) String() string  { return "creates nothing" }
func (o Writes) String() string        { return "writes the file " + literal(o.Path) }
func (o Removes) String() string       { return "removes " + noun(o.Type) + literal(o.Path) }
func (o Keeps) String() string         { return "does not remove " + noun(o.Type) + literal(o.Path) }
func (o Unchanged) String() string     { return "leaves " + literal(o.Path) + " unchanged" }
func (o Changes) String() string       { return "changes the file " + literal(o.Path) }
func (o Exists) String() string        { return subject(o.Type, o.Path) + " exists" }
func (o Missing) String() string       { return subject(o.Type, o.Path) + " does not exist" }
func (o Holds) String() string {
	says := o.Test.says(o.Not)
	if o.Test.Rel == Is {
		says = map[bool]string{false: "is exactly ", true: "does not equal "}[o.Not] + literal(o.Test.Text)
	}
	return subject("file", o.Path) + " " + says
}
func (o HasMode) String() string      { return fmt.Sprintf("%s has mode %04o", subject("", o.Path), o.Mode) }
func (o IsEmpty) String() string      { return subject("file", o.Path) + isOr(o.Not) + " empty" }
func (o IsExecutable) String() string { return subject("file", o.Path) + isOr(o.Not) + " executable" }
func (o HoldsJSON) String() string    { return subject("file", o.Path) + " is " + o.JSON.String() }
func (o HasLines) String() string {
	return subject("file", o.Path) + " has " + o.Count.String() + plural(" line", o.Count.N)
}

// subject names a path where a sentence begins. "the path" keeps it apart from a text that is printed.
func subject(typ, path string) string {
	if typ == "" {
		return "the path " + literal(path)
	}
	return noun(typ) + literal(path)
}

func isOr(not bool) string {
	if not {
		return " is not"
	}
	return " is"
}

// pathOf is the path that an outcome speaks of, or nothing.
func pathOf(o Outcome) string {
	switch o := o.(type) {
	case Creates:
		return o.Path
	case DoesNotCreate:
		return o.Path
	case Writes:
		return o.Path
	case Removes:
		return o.Path
	case Keeps:
		return o.Path
	case Unchanged:
		return o.Path
	case Changes:
		return o.Path
	case Exists:
		return o.Path
	case Missing:
		return o.Path
	case Holds:
		return o.Path
	case IsEmpty:
		return o.Path
	case HasMode:
		return o.Path
	case IsExecutable:
		return o.Path
	case HasLines:
		return o.Path
	case HoldsJSON:
		return o.Path
	}
	return ""
}
