package config

import (
	"encoding/json"
	"strings"
	"time"
)

// Key is one setting: its name, how it is written, and where it belongs in a Config.
type Key struct {
	Name    string // "validate.limits.memory"
	Default any    // as a file would hold it
	Help    string // one sentence

	read func(node) (any, []Problem)   // checks a value and gives it its Go type; problems carry Text, Hint, Line and a relative Key
	text func(string) (any, []Problem) // turns what a variable or a flag says into what a file would hold
	set  func(*Config, any)            // stores what read returned
	get  func(Config) any              // what is in force, as a file would hold it
}

// EnvPrefix starts the names of the variables that set a key.
const EnvPrefix = "TRKR_VALIDATE_"

// Env is the variable that sets the key: TRKR_VALIDATE_LIMITS_MEMORY, TRKR_VALIDATE_TICKET_BRANCH.
func (k Key) Env() string {
	name := strings.TrimPrefix(k.Name, "validate.")
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
}

// Value is what c holds for the key, as a file would.
func (k Key) Value(c Config) any { return k.get(c) }

// key builds a Key whose Go type is T.
func key[T any](name string, def any, t kind[T], at func(*Config) *T, help string) Key {
	return Key{
		Name: name, Default: def, Help: help,
		read: func(n node) (any, []Problem) {
			v, problems := t.read(n)
			return v, problems
		},
		text: t.text,
		set:  func(c *Config, v any) { *at(c) = v.(T) },
		get:  func(c Config) any { return t.show(*at(&c)) },
	}
}

// sections are the objects at the top level that are ours.
var sections = []string{"ticket", "issue", "validate", "loop"}

// orchestrator is the one key at the top level. Only true and false there are ours.
const orchestrator = "orchestrator"

// Keys lists every setting in the order in which they are shown.
func Keys() []Key {
	return []Key{
		key("ticket.branch", "trkr/{issue}", template(branchName), func(c *Config) *string { return &c.Ticket.Branch },
			"the ticket's branch"),
		key("ticket.dir", ".trkr/tickets/{issue}", template(ticketDir), func(c *Config) *string { return &c.Ticket.Dir },
			"where contract.md and validation.md stand on that branch"),
		key("ticket.base", "", text(baseName), func(c *Config) *string { return &c.Ticket.Base },
			"the default branch; empty: found out"),
		key("issue.source", "command", oneOf("command", "github"), func(c *Config) *string { return &c.Issue.Source },
			"who knows an issue's body: issue.command, or GitHub"),
		key("issue.repository", "", text(nil), func(c *Config) *string { return &c.Issue.Repository },
			"GitHub's owner/name; empty: GITHUB_REPOSITORY"),
		key("issue.url", "", text(nil), func(c *Config) *string { return &c.Issue.URL },
			"the API of a GitHub Enterprise server; empty: GITHUB_API_URL, else github.com's"),
		key("issue.command", "", text(nil), func(c *Config) *string { return &c.Issue.Command },
			"prints an issue's body; run with sh"),
		key("validate.build", "", text(nil), func(c *Config) *string { return &c.Validate.Build },
			"builds the artifacts; run with sh in the ticket's worktree"),
		key("validate.build_image", "", text(buildImage), func(c *Config) *string { return &c.Validate.BuildImage },
			"the image of a container to build in, without a network; empty: on this machine"),
		key("validate.build_timeout", "20m", duration(), func(c *Config) *time.Duration { return &c.Validate.BuildTimeout },
			"how long the build may take"),
		key("validate.env", []string{}, list(buildVariable), func(c *Config) *[]string { return &c.Validate.Env },
			"variables of the build, NAME=value or NAME"),
		key("validate.artifacts", []string{}, list(glob), func(c *Config) *[]string { return &c.Validate.Artifacts },
			"globs of what the build makes"),
		key("validate.allow_tracked", []string{}, list(glob), func(c *Config) *[]string { return &c.Validate.AllowTracked },
			"globs of artifacts that git tracks"),
		key("validate.engine", "auto", oneOf("auto", "docker", "gvisor"), func(c *Config) *string { return &c.Validate.Engine },
			"what makes the box"),
		key("validate.image", "host", text(imageName), func(c *Config) *string { return &c.Validate.Image },
			"the box's userland: host, an image's reference, oci:FOLDER, docker-archive:FILE, dockerfile:FILE or artifact:FILE"),
		key("validate.mounts", []string{}, list(mount), func(c *Config) *[]string { return &c.Validate.Mounts },
			"folders of this machine added read-only; image host only"),
		key("validate.install", []string{}, list(command), func(c *Config) *[]string { return &c.Validate.Install },
			"commands that install the artifact in the box; empty: by its kind"),
		key("validate.install_network", []string{}, list(reachable), func(c *Config) *[]string { return &c.Validate.InstallFrom },
			"host:port of places that the install, and nothing else, may reach over TLS"),
		key("validate.services", []any{}, services(), func(c *Config) *[]Service { return &c.Validate.Services },
			"what runs in the box beside each check, such as a database"),
		key("validate.agent", "probe", agents(), func(c *Config) *[]Agent { return &c.Validate.Agents },
			"who judges"),
		key("validate.prove", "note", oneOf("note", "blocking"), func(c *Config) *string { return &c.Validate.Prove },
			"what an assertion gets that a program which does nothing meets"),
		key("validate.timeout", "30m", duration(), func(c *Config) *time.Duration { return &c.Validate.Timeout },
			"how long install and agents may take together"),
		key("validate.limits.memory", "2GiB", size(16<<20), func(c *Config) *int64 { return &c.Validate.Limits.Memory },
			"memory of the box, without swap"),
		key("validate.limits.cpus", 2.0, number(), func(c *Config) *float64 { return &c.Validate.Limits.CPUs },
			"cores of the box"),
		key("validate.limits.pids", 256, count(), func(c *Config) *int { return &c.Validate.Limits.Pids },
			"processes and threads in the box"),
		key("validate.limits.output", "16MiB", size(1<<10), func(c *Config) *int64 { return &c.Validate.Limits.Output },
			"output of one command"),
		key("validate.limits.tmp", "512MiB", size(1<<20), func(c *Config) *int64 { return &c.Validate.Limits.Tmp },
			"each writable file system of the box"),
		key("validate.limits.artifacts", "4GiB", size(1), func(c *Config) *int64 { return &c.Validate.Limits.Artifacts },
			"all artifacts together"),
		key("validate.limits.files", 100000, count(), func(c *Config) *int { return &c.Validate.Limits.Files },
			"how many files the artifacts may be"),
		key("validate.commit", true, boolean(), func(c *Config) *bool { return &c.Validate.Commit },
			"whether validation.md is committed"),
		key("loop.turns", 5, count(), func(c *Config) *int { return &c.Loop.Turns },
			"how many turns a repair loop may take"),
		key("loop.plateau", 2, count(), func(c *Config) *int { return &c.Loop.Plateau },
			"how many turns in which there is not less to do end it"),
		key("loop.errors", 3, count(), func(c *Config) *int { return &c.Loop.Errors },
			"how many failures of the environment in a row end it"),
		key("loop.time", "6h", duration(), func(c *Config) *time.Duration { return &c.Loop.Time },
			"how long all turns and repairs may take together"),
		key("loop.cost", nil, optional(number()), func(c *Config) *float64 { return &c.Loop.Cost },
			"what all repairs may cost together, in the unit that they report"),
		key("loop.handoff", false, boolean(), func(c *Config) *bool { return &c.Loop.Handoff },
			"whether every turn needs an implementation.md; one that is there is always checked"),
		key("loop.triage", "", text(nil), func(c *Config) *string { return &c.Loop.Triage },
			"asks a triage agent what becomes of findings; run with sh"),
		key("loop.triage_timeout", "10m", duration(), func(c *Config) *time.Duration { return &c.Loop.TriageTimeout },
			"how long the triage agent may take"),
		key("loop.file_ticket", "", text(nil), func(c *Config) *string { return &c.Loop.FileTicket },
			"files an issue for a finding that is out of a ticket's scope; run with sh"),
		key("loop.comment", "", text(nil), func(c *Config) *string { return &c.Loop.Comment },
			"posts on a ticket why a finding was dismissed; run with sh"),
		key(orchestrator, true, boolean(), func(c *Config) *bool { return &c.Orchestrator },
			"whether a triage agent is asked at all"),
	}
}

// Lookup finds a key by its name.
func Lookup(name string) (Key, bool) {
	for _, k := range Keys() {
		if k.Name == name {
			return k, true
		}
	}
	return Key{}, false
}

// jsonText reads text as JSON where it looks like a list or an object.
func jsonText(s string) (any, []Problem) {
	n, _, err := parseJSON([]byte(s))
	if err != nil {
		return nil, []Problem{{Text: err.Error()}}
	}
	return n.plain(), nil
}

// literal is text as it stands.
func literal(s string) (any, []Problem) { return s, nil }

// numeral is text that a file would hold as a number.
func numeral(s string) (any, []Problem) {
	var n json.Number
	if err := json.Unmarshal([]byte(s), &n); err != nil || strings.HasPrefix(s, `"`) {
		return nil, []Problem{{Text: quote(s) + " is not a number"}}
	}
	return n, nil
}
