package e2e

import (
	"fmt"
	"testing"
)

var (
	// Nothing is taken for the ticket's own.
	trustedConfig = &defence{edits: []edit{{"cmd/trkr-validate/trusted.go", "return t, own, nil", "return t, false, nil"}}}
	// The branch's own file says what the default branch is, and so where its own work begins.
	trustedBase = &defence{edits: []edit{
		{"cmd/trkr-validate/trusted.go", "for i, by := range []config.Ticket{g.base.Ticket, s.Ticket} {", "for i, by := range []config.Ticket{s.Ticket} {"},
		{"cmd/trkr-validate/trusted.go", "by.Branch, by.Dir, g.base.Ticket.Base", "by.Branch, by.Dir, by.Base"},
	}}
	configRef = &defence{edits: []edit{{"cmd/trkr-validate/trusted.go", "case g.configRef != \"\":\n\t\treturn g.byRef", "case false:\n\t\treturn g.byRef"}}}
	// The environment is completed out of a file, as many tools do.
	noEnvFile = &defence{edits: []edit{{"cmd/trkr-validate/settings.go", "v := viper.New()\n", `v := viper.New()
	if data, err := os.ReadFile(filepath.Join(a.directory, ".env")); err == nil {
		for line := range strings.Lines(string(data)) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
				os.Setenv(name, value)
			}
		}
	}
`}}}
)

// onBranch makes a ticket whose branch is checked out and has a configuration of its own.
func onBranch(t *testing.T, code files, config string) *repo {
	t.Helper()
	all := files{".trkr/config.json": config}
	for name, content := range code {
		all[name] = content
	}
	r := ticketed(t, agreed, all, nil)
	r.git("checkout", "-q", "trkr/7")
	return r
}

// ticketKey begins a config.json with one key of "ticket".
func ticketKey(name, value string) string {
	return fmt.Sprintf("{%q: {%q: %q}, ", "ticket", name, value)
}

// The implementer says how the branch is judged.
var configCheats = []cheat{
	{
		name: "build of the branch's configuration", tries: "validate.build in the branch makes a product of nothing",
		prepare: func(t *testing.T) (*repo, []string) {
			return onBranch(t, nil, configured(t, map[string]any{"build": ready})), nil
		},
		want: "blocking", without: trustedConfig,
	},
	{
		name: "agent of the branch's configuration", tries: "validate.agent in the branch is a command that says CLEAR",
		prepare: func(t *testing.T) (*repo, []string) {
			yes := "echo 'CRITERION: pass — VAL-1: looked at it'; echo 'VERDICT: CLEAR'"
			return onBranch(t, nil, configured(t, map[string]any{"agent": map[string]any{"command": []string{"sh", "-c", yes}}})), nil
		},
		want: "blocking", without: trustedConfig,
	},
	{
		name: "allow_tracked of the branch's configuration", tries: "the branch lists the finished program that it holds as an artifact in allow_tracked",
		prepare: func(t *testing.T) (*repo, []string) {
			code := files{"dist/tool": honest, ".gitignore": "", "build.sh": "true\n"}
			return onBranch(t, code, configured(t, map[string]any{"allow_tracked": []string{"dist/*"}})), nil
		},
		want: "refused artifact_is_source", without: trustedConfig,
	},
	{
		name: "artifacts of the branch's configuration", tries: "the branch takes another program for the artifact than the one that is shipped",
		prepare: func(t *testing.T) (*repo, []string) {
			code := files{".gitignore": "/dist/\n/out/\n", "build.sh": hers + "mkdir -p out && printf '#!/bin/sh\\necho hello\\n' >out/tool && chmod +x out/tool\n"}
			return onBranch(t, code, configured(t, map[string]any{"artifacts": []string{"out/*"}})), nil
		},
		want: "blocking", without: trustedConfig,
	},
	{
		name: "ticket.dir of the branch's configuration", tries: "the branch says that tickets lie elsewhere, where a softer contract is",
		prepare: func(t *testing.T) (*repo, []string) {
			r := started(t, nil)
			r.commit("agree", agreement(agreed))
			r.git("checkout", "-q", "-b", "trkr/7")
			r.commit("documents", files{"tickets/7/contract.md": softer})
			r.commit("code", files{"tool.sh": broken + "#\n", ".trkr/config.json": ticketKey("dir", "tickets/{issue}") + configured(t, nil)[1:]})
			return r, nil
		},
		want: "blocking", without: trustedConfig,
	},
	{
		name: "ticket.base of the branch's configuration", tries: "the branch says that it is the default branch, whose configuration counts",
		prepare: func(t *testing.T) (*repo, []string) {
			r := onBranch(t, nil, ticketKey("base", "trkr/7")+configured(t, map[string]any{"build": ready})[1:])
			r.git("checkout", "-q", "--detach")
			return r, []string{"7", "--ref", "HEAD"}
		},
		want: "blocking", without: trustedBase,
	},
	{
		name: "configuration that only the branch has", tries: "main has none, so the branch brings the one there is",
		prepare: func(t *testing.T) (*repo, []string) {
			r := newRepo(t, files{".gitignore": "/dist/\n", "tool.sh": broken})
			r.ticket("7", agreed, files{".trkr/config.json": configured(t, map[string]any{"build": ready})})
			r.git("checkout", "-q", "trkr/7")
			return r, nil
		},
		want: "error config_untrusted", without: trustedConfig,
	},
	{
		name: "configuration named by hand", tries: "--config names a file that only the branch has changed",
		prepare: func(t *testing.T) (*repo, []string) {
			return onBranch(t, nil, configured(t, map[string]any{"build": ready})), []string{"7", "--config", ".trkr/config.json"}
		},
		want: "error config_untrusted", without: trustedConfig,
	},
	{
		name: "configuration below a merge commit", tries: "CI checks a merge of the branch and main out, whose configuration is the branch's",
		prepare: func(t *testing.T) (*repo, []string) {
			r := onBranch(t, nil, configured(t, map[string]any{"build": ready}))
			r.git("checkout", "-q", "--detach", "main")
			r.git("merge", "-q", "--no-ff", "-m", "try", "trkr/7")
			return r, []string{"7", "--ref", "trkr/7"}
		},
		want: "blocking", without: trustedConfig,
	},
	{
		name: "file of variables", tries: "the branch holds files with TRKR_VALIDATE_BUILD that shells and tools load",
		prepare: func(t *testing.T) (*repo, []string) {
			set := "TRKR_VALIDATE_BUILD=" + ready + "\n"
			code := files{".env": set, ".envrc": "export " + set, ".trkr/env": set, ".trkr/.env": set, "trkr.env": set}
			r := ticketed(t, agreed, code, nil)
			r.git("checkout", "-q", "trkr/7")
			return r, nil
		},
		want: "blocking", without: noEnvFile,
	},
	{
		name: "configuration written by a build", tries: "a build rewrites the configuration in the main checkout for the next run, which is told --config-ref",
		prepare: func(t *testing.T) (*repo, []string) {
			r := ticketed(t, agreed, files{"build.sh": hers + `root=$(cd "$(git rev-parse --git-common-dir)/.." && pwd)
cp hers.json "$root/.trkr/config.json"
`, "hers.json": configured(t, map[string]any{"build": ready})}, nil)
			if _, doc := r.validate("--no-commit", "7"); said(doc) != "blocking" {
				t.Fatalf("the first run: %s", told(doc))
			}
			return r, []string{"7", "--config-ref", "main"}
		},
		want: "blocking", without: configRef,
	},
}
