package ticket

import (
	"slices"
	"strings"
)

const ignoreName = ".gitignore"

// ignore makes one file of a commit's .gitignore files. Those of deeper folders come later and so win, as they do in git.
func (p proved) ignore(files []entry) string {
	slices.SortStableFunc(files, func(a, b entry) int { return strings.Count(a.name, "/") - strings.Count(b.name, "/") })
	var all strings.Builder
	for _, e := range files {
		all.WriteString(anchored(strings.TrimSuffix(e.name, ignoreName), string(p[e.id].data)))
	}
	return all.String()
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
