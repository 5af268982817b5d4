package docker

import (
	"bufio"
	"bytes"
	"context"
	"strconv"
	"strings"

	"github.com/trkr-dev/trkr-validate/sandbox/shim"
)

// releaseLimit is far above what an os-release file holds.
const releaseLimit = 16 << 10

// release is how the system in the box calls itself; empty where it does not.
func release(ctx context.Context, box *shim.Client) (string, error) {
	files, err := box.Observe(ctx, releaseLimit, "/etc/os-release", "/usr/lib/os-release")
	if err != nil {
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
