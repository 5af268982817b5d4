package probe

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/trkr-dev/trkr-validate/internal/pattern"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

// plan says how a command's text is run and which programs that starts, as far as the text tells.
type plan struct {
	argv     []string // words for a run without a shell; nil: the text needs /bin/sh
	programs []program
	opaque   string // why the programs cannot be told from the text; empty where they can
	wrapped  bool   // a program such as timeout or env runs another
	simple   bool   // the text is one command, and nothing runs beside it
}

// program is a word that is run.
type program struct {
	name string
	// script: name is an absolute path that an interpreter is given to run, and need not be executable.
	script bool
	shows  shows
	words  []string // what it is given, as far as that is known: some programs run what they are given
}

// shows tells what the end of a whole text says about one program in it. Without a shell that is always all of it.
type shows int

const (
	hidden shows = iota // nothing: another's end is what is seen
	ifZero              // code 0 says that it ran and ended well; any other may also be another's
	always              // its end is the text's end
)

// read takes a command's text apart. The error says why no POSIX shell could read it.
func read(text string) (plan, error) {
	r := &reader{declared: map[string]bool{}}
	file, err := parseShell(text)
	if err != nil {
		return plan{}, err
	}
	if argv := plain(file); argv != nil && !slices.Contains(special, argv[0]) {
		r.args(literalWords(argv), always, true)
		return r.plan(argv), nil
	}
	r.file(file, always)
	return r.plan(nil), nil
}

func parseShell(text string) (*syntax.File, error) {
	return syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(text), "")
}

// plain returns the words of a text that means the same without a shell.
func plain(f *syntax.File) []string {
	if len(f.Stmts) != 1 {
		return nil
	}
	s := f.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || s.Negated || s.Background || s.Coprocess || s.Disown || len(s.Redirs) > 0 || len(call.Assigns) > 0 || len(call.Args) == 0 {
		return nil
	}
	argv := make([]string, len(call.Args))
	for i, w := range call.Args {
		if argv[i], ok = constant(w); !ok {
			return nil
		}
	}
	if argv[0] == "" {
		return nil
	}
	return argv
}

// constant returns the value of a word in which the shell would expand nothing.
func constant(w *syntax.Word) (string, bool) {
	var b strings.Builder
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, "\\*?[]$`!") || i == 0 && strings.HasPrefix(p.Value, "~") || strings.ContainsAny(p.Value, "{}") {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if p.Dollar {
				return "", false
			}
			for _, q := range p.Parts {
				lit, ok := q.(*syntax.Lit)
				if !ok || strings.ContainsAny(lit.Value, "\\$`") {
					return "", false
				}
				b.WriteString(lit.Value)
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// arg is a word of a command: its value, where that is known.
type arg struct {
	value string
	known bool
}

func literalWords(argv []string) []arg {
	list := make([]arg, len(argv))
	for i, s := range argv {
		list[i] = arg{s, true}
	}
	return list
}

// reader collects the programs of a shell text.
type reader struct {
	programs []program
	opaque   string
	wrapped  bool
	compound bool
	declared map[string]bool // functions of the text: their names are no programs
	moved    bool            // the text changes its directory: relative paths mean something else afterwards
	depth    int
}

func (r *reader) plan(argv []string) plan {
	return plan{argv: argv, programs: r.programs, opaque: r.opaque, wrapped: r.wrapped, simple: !r.compound}
}

func (r *reader) hide(why string) {
	if r.opaque == "" {
		r.opaque = why
	}
}

// Names that the shell runs itself, in dash, bash or BusyBox. A program of the same name is not what runs.
var builtin = strings.Fields(`. : [ alias bg break builtin cd chdir command continue declare dirs disown echo eval exec exit
	export false fc fg getopts hash help history jobs kill let local logout popd printf pushd pwd read readonly return set
	shift shopt source suspend test times trap true type typeset ulimit umask unalias unset wait`)

// Builtins that are no programs anywhere: a text that begins with one needs a shell.
var special = strings.Fields(`. : alias bg break builtin cd chdir command continue eval exec exit export fg getopts hash jobs
	let local read readonly return set shift source times trap type typeset ulimit umask unalias unset wait`)

// Programs that run the rest of their words: after how many others, and what their own end tells of it.
var wrapper = map[string]struct {
	skip  int
	shows shows
}{
	"command": {0, always}, "exec": {0, always}, "env": {0, always}, "nohup": {0, always}, "nice": {0, always}, "time": {0, always},
	"timeout": {1, ifZero}, "xargs": {0, ifZero}, "setsid": {0, hidden},
}

var duration = pattern.Regexp(`^[0-9]+(\.[0-9]+)?[smhd]?$`)

// Programs that run the file they are given as their first word. An option before it may change that: then none counts.
var interpreter = strings.Fields(`sh dash bash ash ksh zsh node nodejs bun python python2 python3 perl ruby php lua tclsh Rscript`)

// args notes the program that a command starts, and what that one starts in turn.
func (r *reader) args(args []arg, shown shows, direct bool) {
	name := args[0].value
	if !args[0].known || name == "" {
		return
	}
	own := !direct && slices.Contains(builtin, name)
	switch {
	case r.declared[name]:
		return
	case own:
		r.builtin(name, args)
	case strings.Contains(name, "/") && !path.IsAbs(name) && r.moved:
		return
	default:
		p := program{name: name, shows: shown}
		for _, a := range args[1:] {
			if a.known {
				p.words = append(p.words, a.value)
			}
		}
		r.programs = append(r.programs, p)
	}
	base := path.Base(name)
	if wrap, ok := wrapper[base]; ok {
		rest := args[1:]
		for base == "env" && len(rest) > 0 && rest[0].known && strings.Contains(rest[0].value, "=") {
			if strings.HasPrefix(rest[0].value, "PATH=") {
				r.hide("it sets PATH")
			}
			rest = rest[1:]
		}
		rest = rest[min(wrap.skip, len(rest)):]
		if len(rest) > 0 && !strings.HasPrefix(rest[0].value, "-") && (wrap.skip == 0 || !strings.HasPrefix(args[1].value, "-")) {
			r.wrapped = r.wrapped || !own
			if base != "timeout" || !duration().MatchString(args[1].value) { // with one it has nothing to refuse
				shown = min(shown, wrap.shows)
			}
			r.args(rest, shown, base != "command")
		}
		return
	}
	if own || len(args) < 2 || !args[1].known {
		return
	}
	first := args[1].value
	switch {
	case base == "java" && first == "-jar" && len(args) > 2 && args[2].known:
		r.script(args[2].value, shown)
	case !slices.Contains(interpreter, base):
	case first == "-c" && strings.HasSuffix(base, "sh") && len(args) > 2 && args[2].known:
		r.nested(args[2].value, shown)
	case !strings.HasPrefix(first, "-"):
		r.script(first, shown)
	}
}

// script notes a file that an interpreter runs. Only a path of the artifact or the prefix tells by its text what it is.
func (r *reader) script(name string, shown shows) {
	if belongs(name) {
		r.programs = append(r.programs, program{name: path.Clean(name), script: true, shows: shown})
	}
}

func (r *reader) nested(text string, shown shows) {
	const deepest = 4
	if r.depth >= deepest {
		return
	}
	f, err := parseShell(text)
	if err != nil {
		return
	}
	declared := r.declared // by another shell
	r.declared = map[string]bool{}
	r.depth++
	r.file(f, shown)
	r.depth--
	r.declared = declared
}

// belongs reports whether an absolute path lies in the artifact or in what was installed of it.
func belongs(name string) bool {
	for _, root := range []string{sandbox.Artifact, sandbox.Prefix} {
		if strings.HasPrefix(path.Clean(name), root+"/") {
			return true
		}
	}
	return false
}
