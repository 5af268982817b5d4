package ticket

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// settings go in front of every command line. They win over every configuration file.
var settings = []string{
	"--no-pager",
	"-c", "core.hooksPath=/dev/null",
	"-c", "core.fsmonitor=false",
	"-c", "core.checkStat=default", // a changed file must not look unchanged
	"-c", "core.trustctime=true",
	"-c", "core.ignoreStat=false",
	"-c", "core.fileMode=true", // what is checked out is what the commit and its attributes say
	"-c", "core.symlinks=true",
	"-c", "core.autocrlf=false",
	"-c", "core.eol=lf",
	"-c", "core.attributesFile=/dev/null",
	"-c", "core.quotePath=false",
	"-c", "core.safecrlf=false",
	"-c", "core.commitGraph=false", // a planted graph file could lie about history
	"-c", "commit.gpgSign=false",
	"-c", "i18n.commitEncoding=UTF-8",
	"-c", "submodule.recurse=false",
	"-c", "gc.auto=0",
	"-c", "maintenance.auto=false",
	"-c", "advice.detachedHead=false",
	"-c", "advice.graftFileDeprecated=false",
	"-c", "protocol.allow=never",
}

// environment is all that git sees of the caller's environment: no GIT_* of an outer hook or a CI step decides which
// repository or index is meant, or what is traced.
func environment() []string {
	env := []string{
		"LC_ALL=C",
		"LANGUAGE=C",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_OPTIONAL_LOCKS=0",     // looking never writes the index
		"GIT_NO_LAZY_FETCH=1",      // a partial clone is not completed over the network
		"GIT_ALLOW_PROTOCOL=none",  // the same for versions that don't know the line above
		"GIT_NO_REPLACE_OBJECTS=1", // objects are what their names say
		"GIT_GRAFT_FILE=/dev/null", // and so is history
		"GIT_LITERAL_PATHSPECS=1",  // a path is never a pattern
		"GIT_EDITOR=false",         // nothing here edits,
		"GIT_ASKPASS=false",        // asks,
		"GIT_PAGER=cat",            // or pages
	}
	for _, name := range []string{"PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "USER", "LOGNAME"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// configured is what git's configuration says in one place. It is asked anew for each operation: what ran in the
// worktree may have changed it.
type configured struct {
	values map[string]string // by key, section and name in lower case; the last one counts
	// off are environment entries that switch off every program which the configuration names for files that pass in
	// and out (filter drivers) and for events (configured hooks).
	off []string
}

func (r *Repo) configured(ctx context.Context, at place) (configured, error) {
	out, err := r.git.output(ctx, call{at: at, args: []string{"config", "--list", "-z"}})
	if err != nil {
		return configured{}, fmt.Errorf("reading git's configuration: %w", err)
	}
	c := configured{values: map[string]string{}}
	off := map[string]string{}
	for setting := range strings.SplitSeq(string(out), "\x00") {
		key, value, set := strings.Cut(setting, "\n")
		if !set {
			value = "true" // a key alone
		}
		c.values[key] = value
		section, rest, _ := strings.Cut(key, ".")
		dot := strings.LastIndexByte(rest, '.')
		if dot < 0 {
			continue
		}
		switch name := rest[:dot]; section {
		case "filter":
			// An empty command is no command, and a driver that is not required may do nothing.
			off["filter."+name+".clean"] = ""
			off["filter."+name+".smudge"] = ""
			off["filter."+name+".process"] = ""
			off["filter."+name+".required"] = "false"
		case "hook":
			off["hook."+name+".enabled"] = "false"
		}
	}
	// Not -c, which splits at the first "=" and so misreads a driver that has one in its name.
	c.off = []string{fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(off))}
	i := 0
	for key, value := range off {
		c.off = append(c.off, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, value))
		i++
	}
	return c, nil
}

// isTrue reads a value as git reads a boolean; what git would not read is false.
func (c configured) isTrue(key string) bool {
	switch value := strings.ToLower(c.values[key]); value {
	case "true", "yes", "on":
		return true
	default:
		n, err := strconv.Atoi(value)
		return err == nil && n != 0
	}
}
