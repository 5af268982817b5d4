package probe

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

func (o Creates) judge(s *seen) judgement {
	before, after := s.before[o.Path], s.after[o.Path]
	what := kindOf(o.Type)
	name := quote([]byte(o.Path), 80)
	switch {
	case after.Type == "":
		return unmet("expected the %s %s, nothing is there", what, name)
	case before.Type == sandbox.Unseen, after.Type == sandbox.Unseen:
		return notSeen(name)
	case o.Type == "" && after.Type != "file" && after.Type != "dir":
		return unverified("%s is a %s: only of a file or a directory can it be told that it is what was meant", name, after.Type)
	case o.Type != "" && after.Type != o.Type:
		return unmet("expected the %s %s, there is a %s", what, name, after.Type)
	case before.Type != "":
		return unmet("expected %s to be created, it was there before", name)
	case o.Containing == "":
		return met("created the %s %s", what, name)
	case bytes.Contains(after.Content, []byte(o.Containing)):
		return met("created the file %s containing %s", name, quote([]byte(o.Containing), 80))
	case int64(len(after.Content)) < after.Size:
		return unverified("not in the first %d of %d bytes of %s that were looked at: %s", len(after.Content), after.Size, name, quote([]byte(o.Containing), 80))
	default:
		return unmet("expected %s in %s, it holds %s", quote([]byte(o.Containing), 80), name, quote(after.Content, 160))
	}
}

func (o Removes) judge(s *seen) judgement {
	name := quote([]byte(o.Path), 80)
	switch before, after := s.before[o.Path], s.after[o.Path]; {
	case before.Type == sandbox.Unseen, after.Type == sandbox.Unseen:
		return notSeen(name)
	case before.Type == "":
		return blocked("%s was not there before, so nothing shows that it is removed", name)
	case o.Type != "" && before.Type != o.Type:
		return blocked("%s was a %s before", name, before.Type)
	case after.Type != "":
		return unmet("expected %s to be gone, it is still there", name)
	default:
		return met("removed %s", name)
	}
}

func (o Unchanged) judge(s *seen) judgement {
	name := quote([]byte(o.Path), 80)
	before, after := s.before[o.Path], s.after[o.Path]
	switch {
	case before.Type == sandbox.Unseen, after.Type == sandbox.Unseen:
		return notSeen(name)
	case before.Type == "":
		return blocked("%s was not there before", name)
	case before.Type != "file":
		return unverified("%s is a %s: only of a file can it be told that it is unchanged", name, before.Type)
	case after.Type != before.Type || after.Mode != before.Mode || after.Size != before.Size || !bytes.Equal(after.Content, before.Content) || after.Digest != before.Digest:
		return unmet("expected %s unchanged, it was %s and is %s", name, file(before), file(after))
	case before.Digest == "" && int64(len(before.Content)) < before.Size, before.Partial:
		return unverified("only the first %d of %d bytes of %s were compared", len(before.Content), before.Size, name)
	default:
		return s.absent(met("%s is unchanged", name))
	}
}

func notSeen(name string) judgement {
	return unverified("what is at %s could not be looked at: a directory is shut, or a link leads out of the working directory", name)
}

func file(f sandbox.File) string {
	switch f.Type {
	case "":
		return "gone"
	case "file":
		return fmt.Sprintf("a file with mode %04o and %d bytes %s", f.Mode, f.Size, quote(f.Content, 60))
	default:
		return "a " + f.Type
	}
}

func kindOf(typ string) string {
	return map[string]string{"": "path", "file": "file", "dir": "directory"}[typ]
}

func (o DoesNotCreate) judge(s *seen) judgement {
	name := quote([]byte(o.Path), 80)
	switch before, after := s.before[o.Path], s.after[o.Path]; {
	case before.Type == sandbox.Unseen, after.Type == sandbox.Unseen:
		return notSeen(name)
	case before.Type != "":
		return blocked("%s was there before, so nothing shows that it is not created", name)
	case after.Type != "":
		return unmet("expected nothing at %s, there is %s", name, file(after))
	default:
		return s.absent(met("nothing is at %s", name))
	}
}

func (CreatesNothing) judge(s *seen) judgement {
	if s.listing != "" {
		return blocked("what is in the working directory could not be listed: %s", s.listing)
	}
	var fresh []string
	for _, name := range s.listAfter {
		if !slices.Contains(s.listBefore, name) {
			fresh = append(fresh, name)
		}
	}
	if len(fresh) > 0 {
		return unmet("expected no new file, got %s", quote([]byte(strings.Join(fresh, " ")), 200))
	}
	return s.absent(met("nothing new is in the working directory"))
}

func (o Writes) judge(s *seen) judgement {
	before, after := s.before[o.Path], s.after[o.Path]
	name := quote([]byte(o.Path), 80)
	switch {
	case before.Type == sandbox.Unseen, after.Type == sandbox.Unseen:
		return notSeen(name)
	case after.Type != "file":
		return unmet("expected the file %s, there is %s", name, file(after))
	case before.Type == "":
		return met("created the file %s", name)
	case before.Type == "file" && same(before, after):
		return unverified("%s was there before and holds the same as then: nothing shows that it was written", name)
	default:
		return met("%s holds something else than before", name)
	}
}

func same(a, b sandbox.File) bool {
	return a.Size == b.Size && bytes.Equal(a.Content, b.Content) && a.Digest == b.Digest
}

func (o Keeps) judge(s *seen) judgement {
	name := quote([]byte(o.Path), 80)
	switch before, after := s.before[o.Path], s.after[o.Path]; {
	case before.Type == sandbox.Unseen, after.Type == sandbox.Unseen:
		return notSeen(name)
	case before.Type == "":
		return blocked("%s was not there before", name)
	case o.Type != "" && before.Type != o.Type:
		return blocked("%s was a %s before", name, before.Type)
	case after.Type != before.Type:
		return unmet("expected %s to stay, it was %s and is %s", name, file(before), file(after))
	default:
		return s.absent(met("%s is still there", name))
	}
}

func (o Changes) judge(s *seen) judgement {
	name := quote([]byte(o.Path), 80)
	switch before, after := s.before[o.Path], s.after[o.Path]; {
	case before.Type == sandbox.Unseen, after.Type == sandbox.Unseen:
		return notSeen(name)
	case before.Type == "":
		return blocked("%s was not there before, so nothing shows that it is changed", name)
	case before.Type != "file" || after.Type != "file":
		return unmet("expected a changed file %s, it was %s and is %s", name, file(before), file(after))
	case same(before, after) && (before.Partial || before.Digest == "" && int64(len(before.Content)) < before.Size):
		return unverified("only the first %d of %d bytes of %s were compared", len(before.Content), before.Size, name)
	case same(before, after):
		return unmet("expected %s to be changed, it is still %s", name, file(after))
	default:
		return met("%s was %s and is %s", name, file(before), file(after))
	}
}

func (o Exists) judge(s *seen) judgement {
	name := quote([]byte(o.Path), 80)
	switch after := s.after[o.Path]; {
	case after.Type == sandbox.Unseen:
		return notSeen(name)
	case after.Type == "":
		return unmet("expected the %s %s, nothing is there", kindOf(o.Type), name)
	case o.Type != "" && after.Type != o.Type:
		return unmet("expected the %s %s, there is a %s", kindOf(o.Type), name, after.Type)
	case o.Type == "" && after.Type != "file" && after.Type != "dir":
		return unverified("%s is a %s: only of a file or a directory can it be told that it is what was meant", name, after.Type)
	default:
		return met("%s is there", name)
	}
}

func (o Missing) judge(s *seen) judgement {
	name := quote([]byte(o.Path), 80)
	switch after := s.after[o.Path]; {
	case after.Type == sandbox.Unseen:
		return notSeen(name)
	case after.Type != "" && (o.Type == "" || o.Type == after.Type):
		return unmet("expected nothing at %s, there is %s", name, file(after))
	case after.Type != "":
		return unverified("%s is no %s but %s", name, kindOf(o.Type), file(after))
	default:
		return s.absent(met("nothing is at %s", name))
	}
}

// content is the content of a file afterwards, and whether it is all of it; else the judgement says why there is none.
func (s *seen) content(path string) (data []byte, whole bool, j judgement, ok bool) {
	name := quote([]byte(path), 80)
	switch after := s.after[path]; {
	case after.Type == sandbox.Unseen:
		return nil, false, notSeen(name), false
	case after.Type == "":
		return nil, false, unmet("expected the file %s, nothing is there", name), false
	case after.Type != "file":
		return nil, false, unmet("expected the file %s, there is a %s", name, after.Type), false
	case after.Size > 0 && len(after.Content) == 0:
		return nil, false, unverified("the content of %s could not be read", name), false
	default:
		return after.Content, int64(len(after.Content)) >= after.Size, judgement{}, true
	}
}

func (o Holds) judge(s *seen) judgement {
	data, whole, j, ok := s.content(o.Path)
	if !ok {
		return j
	}
	name := quote([]byte(o.Path), 80)
	right := o.Test.holds(data)
	settled := whole || right && (o.Test.Rel == Contains || o.Test.Rel == Begins) || !right && o.Test.Rel == Begins && len(data) >= len(o.Test.Text)
	switch {
	case !settled:
		return unverified("only the first %d bytes of %s were looked at", len(data), name)
	case right == o.Not:
		return unmet("expected that %s %s, it holds %s", name, o.Test.says(o.Not), differing(data, o.Test, 160))
	case o.Not:
		return s.absent(met("%s holds %s", name, quote(data, 160)))
	default:
		return met("%s holds %s", name, quote(data, 160))
	}
}

func (o IsEmpty) judge(s *seen) judgement {
	name := quote([]byte(o.Path), 80)
	switch after := s.after[o.Path]; {
	case after.Type == sandbox.Unseen:
		return notSeen(name)
	case after.Type != "file":
		return unmet("expected the file %s, there is %s", name, file(after))
	case (after.Size == 0) == o.Not:
		return unmet("expected that %s is%s empty, it is %s", name, map[bool]string{true: " not"}[o.Not], file(after))
	default:
		return met("%s is %s", name, file(after))
	}
}

func (o HasMode) judge(s *seen) judgement {
	name := quote([]byte(o.Path), 80)
	switch after := s.after[o.Path]; {
	case after.Type == sandbox.Unseen:
		return notSeen(name)
	case after.Type != "file" && after.Type != "dir":
		return unmet("expected %s with mode %04o, there is %s", name, o.Mode, file(after))
	case int(after.Mode) != o.Mode:
		return unmet("expected mode %04o of %s, got %04o", o.Mode, name, after.Mode)
	default:
		return met("%s has mode %04o", name, after.Mode)
	}
}

func (o IsExecutable) judge(s *seen) judgement {
	name := quote([]byte(o.Path), 80)
	switch after := s.after[o.Path]; {
	case after.Type == sandbox.Unseen:
		return notSeen(name)
	case after.Type != "file":
		return unmet("expected the file %s, there is %s", name, file(after))
	case (after.Mode&0o111 != 0) == o.Not:
		return unmet("expected that %s is%s executable, its mode is %04o", name, map[bool]string{true: " not"}[o.Not], after.Mode)
	default:
		return met("%s has mode %04o", name, after.Mode)
	}
}

func (o HasLines) judge(s *seen) judgement {
	data, whole, j, ok := s.content(o.Path)
	name := quote([]byte(o.Path), 80)
	switch n := count(data); {
	case ok && whole && o.Count.right(n):
		return met("%s has %d%s", name, n, plural(" line", n))
	case !ok:
		return j
	case !whole:
		return unverified("only the first %d bytes of %s were looked at", len(data), name)
	default:
		return unmet("expected %s%s in %s, got %d: %s", o.Count, plural(" line", o.Count.N), name, n, quote(data, 160))
	}
}

func (o HoldsJSON) judge(s *seen) judgement {
	data, whole, j, ok := s.content(o.Path)
	switch {
	case !ok:
		return j
	case !whole:
		return unverified("only the first %d bytes of %s were looked at", len(data), quote([]byte(o.Path), 80))
	}
	return o.JSON.judge(quote([]byte(o.Path), 80), data)
}
