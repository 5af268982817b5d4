package ticket

import (
	"path"
	"slices"
	"strings"
)

const ignoreName = ".gitignore"

// ignore makes one file of a commit's .gitignore files. Those of deeper folders come later and so win, as they do in git.
func (p proved) ignore(entries []entry) (string, error) {
	var files []entry
	for _, e := range entries {
		if path.Base(e.name) == ignoreName && (e.mode == modeFile || e.mode == modeProgram) {
			files = append(files, e)
		}
	}
	slices.SortStableFunc(files, func(a, b entry) int { return strings.Count(a.name, "/") - strings.Count(b.name, "/") })
	var all strings.Builder
	for _, e := range files {
		o, ok := p[e.id]
		if !ok {
			return "", object{name: e.id}.damaged()
		}
		all.WriteString(anchored(strings.TrimSuffix(e.name, ignoreName), string(o.data)))
	}
	return all.String(), nil
}

// anchored rewrites the patterns of a folder's .gitignore so that they mean the same at the root. dir ends with a slash
// or is empty.
func anchored(dir, patterns string) string {
	if strings.Contains(dir, "\n") {
		return "" // no pattern can say it; then nothing is ignored
	}
	quoted := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
	var all strings.Builder
	for line := range strings.Lines(strings.TrimPrefix(patterns, "\ufeff")) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		pattern, again := strings.CutPrefix(line, "!")
		bare := strings.TrimSuffix(strings.TrimRight(pattern, " "), "/")
		if bare == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if again {
			all.WriteString("!")
		}
		if strings.Contains(bare, "/") {
			all.WriteString("/" + quoted + strings.TrimPrefix(pattern, "/"))
		} else {
			all.WriteString("/" + quoted + "**/" + pattern)
		}
		all.WriteString("\n")
	}
	return all.String()
}
