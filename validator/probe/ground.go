package probe

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/bound"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// anything is in a file of which nothing was said but that it is there.
const anything = "already here\n"

// makeThing puts one file or directory into the working directory. It uses the image's programs by their full names: one of the artifact,
// or a decoy, could stand before them.
const makeThing = `f() { n=$1; shift; for d in $P; do if [ -x "$d/$n" ]; then "$d/$n" "$@"; return; fi; done; echo "the image has no $n" >&2; return 9; }
set -e
case $1 in */*) f mkdir -p "./${1%/*}" ;; esac
if [ "$2" = dir ]; then f mkdir -p "./$1"; exit; fi
f cat >"./$1"
[ -z "$3" ] || f chmod "$3" "./$1"`

// list prints what is below the working directory, each with a NUL.
const listAll = `for d in $P; do [ ! -x "$d/find" ] || exec "$d/find" . -mindepth 1 -print0; done; echo "the image has no find" >&2; exit 9`

// own runs a text of ours with the image's programs.
func (t *trial) own(ctx context.Context, text, input string, words ...string) (ended, error) {
	s := ended{stdout: bound.NewBuffer(outputHead, outputTail), stderr: bound.NewBuffer(outputHead, outputTail)}
	var dirs []string
	for _, d := range t.lookup.image {
		if path.IsAbs(d) && !belongs(d+"/x") && !strings.ContainsAny(d, " *?[") {
			dirs = append(dirs, d)
		}
	}
	var err error
	s.exit, err = t.inside.Run(ctx, sandbox.Command{
		Args: append([]string{"/bin/sh", "-c", text, "sh"}, words...), Env: []string{"P=" + strings.Join(dirs, " ")},
		Stdin: strings.NewReader(input), Stdout: s.stdout, Stderr: s.stderr, Timeout: ownTimeout,
	})
	return s, err
}

// put makes one given thing and looks whether it is there.
func (t *trial) put(ctx context.Context, g Given) (judgement, error) {
	text, mode := g.Text, ""
	if g.Any {
		text = anything
	}
	if g.Mode >= 0 {
		mode = fmt.Sprintf("%o", g.Mode)
	}
	s, err := t.own(ctx, makeThing, text, g.Path, g.Type, mode)
	if err != nil {
		return judgement{}, err
	}
	files, err := t.inside.Observe(ctx, int64(len(text)), g.Path)
	if err != nil {
		return judgement{}, err
	}
	f := files[0]
	readable := g.Mode < 0 || g.Mode&0o400 != 0
	if f.Type != g.Type || g.Type == "file" && (f.Size != int64(len(text)) || readable && !bytes.Equal(f.Content, []byte(text))) {
		return blocked("%s could not be made: %s; %s", g, describe(s.exit), show(s.streams(Stderr))), nil
	}
	return met(""), nil
}

// ground sees to what holds when the command is run: paths that exist or do not, and its directory.
func (t *trial) ground(ctx context.Context) (judgement, error) {
	a := t.tree
	for _, w := range a.When {
		w.Path = path.Join(a.Dir, w.Path)
		files, err := t.inside.Observe(ctx, 0, w.Path)
		if err != nil {
			return judgement{}, err
		}
		found := files[0].Type
		switch {
		case found == sandbox.Unseen:
			return notSeen(quote([]byte(w.Path), 80)), nil
		case w.Exists && found == "":
			typ := w.Type
			if typ == "" {
				typ = "file"
			}
			if j, err := t.put(ctx, Given{Type: typ, Path: w.Path, Any: typ == "file", Mode: -1}); err != nil || j.status != verdict.Met {
				return j, err
			}
		case w.Exists && w.Type != "" && w.Type != found, !w.Exists && found != "":
			return blocked("%s: there is %s", w, file(files[0])), nil
		}
	}
	if a.Dir == "" {
		return met(""), nil
	}
	files, err := t.inside.Observe(ctx, 0, a.Dir)
	if err == nil && files[0].Type != "dir" {
		return blocked("the directory %s to run it in is not there", quote([]byte(a.Dir), 80)), nil
	}
	return met(""), err
}

// list tells what is below the command's directory, or why that is not known.
func (t *trial) list(ctx context.Context) (names []string, why string, err error) {
	if t.product {
		return nil, "the image is the product, and only a program of its own could list that", nil
	}
	s, err := t.own(ctx, listAll, "")
	if err != nil {
		return nil, "", err
	}
	if x := s.stream(Stdout); !s.exit.Exited() || s.exit.Code != 0 || x.cut > 0 {
		return nil, describe(s.exit) + "; " + show(s.streams(Stderr)), nil
	} else {
		names = strings.Split(strings.TrimSuffix(string(x.data), "\x00"), "\x00")
	}
	slices.Sort(names)
	return names, "", nil
}
