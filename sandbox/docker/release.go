package docker

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

// releaseLimit is far above what an os-release file holds.
const releaseLimit = 16 << 10

// release is how the system in the box calls itself; empty where it does not.
func release(ctx context.Context, box sandbox.Sandbox) (string, error) {
	session, err := box.Open(ctx, sandbox.SessionSpec{Role: sandbox.RoleSubject})
	if err != nil {
		return "", err
	}
	files, err := session.Observe(ctx, releaseLimit, "/etc/os-release", "/usr/lib/os-release")
	if err = errors.Join(err, session.Close()); err != nil {
		return "", err
	}
	for _, f := range files {
		lines := bufio.NewScanner(bytes.NewReader(f.Content))
		for lines.Scan() {
			if value, ok := strings.CutPrefix(lines.Text(), "PRETTY_NAME="); ok {
				if s, err := strconv.Unquote(value); err == nil {
					value = s
				}
				return strings.Trim(value, `'"`), nil
			}
		}
	}
	return "", nil
}
