package install

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/bound"
	"github.com/trkr-dev/trkr-validate/internal/pattern"
	"github.com/trkr-dev/trkr-validate/internal/plain"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

// finishing lists the programs below $1, each ended by a NUL: of its bin and sbin only where $2 is "bin". It needs
// nothing but a shell. That everybody may read them and nobody write them is the box's affair, when the session of the
// install ends: only after that it shows who may run what, whatever modes the install left.
const finishing = `
walk() {
	for f in "$1"/* "$1"/.[!.]*; do
		if [ -d "$f" ]; then
			case $f in */node_modules | */site-packages | */dist-packages) continue ;; esac
			if [ "$2" != bin ] && [ ! -L "$f" ]; then walk "$f" "$2"; fi
		elif [ -f "$f" ] && [ -x "$f" ]; then
			printf '%s\0' "$f"
		fi
	done
}
if [ "$2" = bin ]; then walk "$1/bin" bin; walk "$1/sbin" bin; else walk "$1" all; fi
exit 0`

// maxList bounds the list of programs, in bytes.
const maxList = 1 << 20

// python's own programs in a virtual environment.
var scaffold = pattern.Regexp(`^python[0-9.]*$`)

// finish finds the programs that the install made.
func (i *installer) finish(ctx context.Context, r *Result) (*Failure, error) {
	where := "bin"
	if r.Kind == KindArchive {
		where = "all"
	}
	programs, failure, err := i.list(ctx, where)
	if failure == nil && err == nil && len(programs) == 0 && r.Kind == KindCommands {
		programs, failure, err = i.list(ctx, "all")
	}
	if failure != nil || err != nil {
		return failure, err
	}
	places := map[string]string{}
	for _, file := range programs {
		dir, name := path.Dir(file), path.Base(file)
		if !slices.Contains(r.Path, dir) {
			r.Path = append(r.Path, dir)
		}
		if r.Kind == KindPython && scaffold().MatchString(name) {
			continue
		}
		if was, ok := places[name]; ok && r.Kind == KindArchive && top(was) != top(file) {
			return &Failure{Missing: MissingChoice, Detail: "two programs have the same name: " + plain.Line(was, 120) + " and " + plain.Line(file, 120)}, nil
		}
		if places[name] = file; !slices.Contains(r.Programs, name) {
			r.Programs = append(r.Programs, name)
		}
	}
	slices.Sort(r.Path)
	slices.Sort(r.Programs)
	return nil, nil
}

// top is the directory below the prefix that an archive was unpacked into.
func top(file string) string {
	dir, _, _ := strings.Cut(strings.TrimPrefix(file, sandbox.Prefix+"/"), "/")
	return dir
}

func (i *installer) list(ctx context.Context, where string) ([]string, *Failure, error) {
	const line = "listing the installed programs"
	stdout, stderr := bound.NewBuffer(maxList, 0), bound.NewBuffer(keepHead, keepTail)
	exit, err := i.exec(ctx, line, stdout, stderr, "/bin/sh", "-c", finishing, "sh", sandbox.Prefix, where)
	if err != nil {
		return nil, nil, err
	}
	if !exit.Exited() || exit.Code != 0 {
		return nil, explain(line, "/bin/sh", exit, nil, stderr.Bytes()), nil
	}
	if stdout.Total() > maxList { // one that is not named would be run and never be suspected
		return nil, &Failure{Command: line, Exit: exit, Detail: fmt.Sprintf("there are more of them than %d bytes of names", maxList)}, nil
	}
	var files []string
	for name := range bytes.SplitSeq(stdout.Head(), []byte{0}) {
		if strings.HasPrefix(string(name), sandbox.Prefix+"/") {
			files = append(files, string(name))
		}
	}
	return files, nil, nil
}
