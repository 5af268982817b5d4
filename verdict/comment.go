package verdict

import "bytes"

// comment follows HTML comments outside fences: nobody sees what stands in one. The zero value is outside.
type comment struct {
	open   bool
	inline bool // it began within a paragraph, so a blank line ends it: then it was none
}

// step goes past line.
func (c *comment) step(line []byte) {
	if c.inline && len(bytes.TrimFunc(line, isSpace)) == 0 {
		*c = comment{}
	}
	for begin := line; ; {
		if c.open {
			i := bytes.Index(line, []byte("-->"))
			if i < 0 {
				return
			}
			*c, line = comment{}, line[i+len("-->"):]
		}
		i := commentStart(line)
		if i < 0 {
			return
		}
		c.open = true
		c.inline = len(bytes.TrimFunc(begin[:len(begin)-len(line)+i], isSpace)) > 0
		line = line[i+len("<!"):] // "<!-->" is a whole comment
	}
}

// commentStart finds a comment's start that is in no code span.
func commentStart(line []byte) int {
	if len(line) < len("<!--") || !bytes.Contains(line, []byte("<!--")) {
		return -1
	}
	for at := 0; ; {
		i := bytes.IndexAny(line[at:], "`<")
		if i < 0 {
			return -1
		}
		at += i
		if bytes.HasPrefix(line[at:], []byte("<!--")) {
			return at
		}
		if line[at] == '<' {
			at++
			continue
		}
		rest := bytes.TrimLeft(line[at:], "`")
		ticks := line[at : len(line)-len(rest)]
		at += len(ticks)
		if end := codeEnd(rest, len(ticks)); end >= 0 {
			at += end
		}
	}
}

// codeEnd finds where the run of so many backticks ends that closes a code span; -1 where none does.
func codeEnd(s []byte, ticks int) int {
	for at := 0; ; {
		i := bytes.IndexByte(s[at:], '`')
		if i < 0 {
			return -1
		}
		at += i
		run := len(s[at:]) - len(bytes.TrimLeft(s[at:], "`"))
		at += run
		if run == ticks {
			return at
		}
	}
}
