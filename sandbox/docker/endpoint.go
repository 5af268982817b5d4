package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/docker/docker/client"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// endpoint is an address at which a daemon may listen.
type endpoint struct {
	host    string // "unix:///var/run/docker.sock"
	named   string // who named it
	options []client.Opt
}

// endpoints are the addresses to try in order: what DOCKER_HOST names, else what Docker's current context names, else
// the sockets at which daemons listen by default, as far as they are there.
func (e *engine) endpoints() ([]endpoint, error) {
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		return []endpoint{{host: host, named: "DOCKER_HOST", options: []client.Opt{client.WithTLSClientConfigFromEnv()}}}, nil
	}
	if name, by := currentContext(); name != "" && name != "default" {
		point, err := contextEndpoint(name)
		if err != nil {
			return nil, fault.Envf("docker_context", []string{"docker context ls shows the contexts, docker context use default leaves this one", "or set DOCKER_HOST"},
				"reading the Docker context %q, named by %s: %w", name, by, err)
		}
		return []endpoint{point}, nil
	}
	var points []endpoint
	for _, socket := range e.sockets {
		if _, err := os.Stat(socket); err == nil || errors.Is(err, fs.ErrPermission) {
			points = append(points, endpoint{host: "unix://" + socket})
		}
	}
	return points, nil
}

// knownSockets are where Docker, its rootless form and its desktop programs listen.
func knownSockets() []string {
	sockets := []string{"/var/run/docker.sock"}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		sockets = append(sockets, filepath.Join(dir, "docker.sock"))
	}
	if home, err := os.UserHomeDir(); err == nil {
		for _, rel := range []string{".docker/run/docker.sock", ".docker/desktop/docker.sock", ".orbstack/run/docker.sock", ".colima/default/docker.sock", ".rd/docker.sock"} {
			sockets = append(sockets, filepath.Join(home, rel))
		}
	}
	return sockets
}

// configDir is where the Docker command keeps its configuration.
func configDir() string {
	if dir := os.Getenv("DOCKER_CONFIG"); dir != "" {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".docker")
}

// currentContext is the name of the context in use and who named it; empty where there is none. A configuration that
// cannot be read names none: the Docker command goes on without it as well.
func currentContext() (name, by string) {
	if name := os.Getenv("DOCKER_CONTEXT"); name != "" {
		return name, "DOCKER_CONTEXT"
	}
	path := filepath.Join(configDir(), "config.json")
	data, err := os.ReadFile(path)
	if err != nil {
		return "", ""
	}
	var config struct{ CurrentContext string }
	if err := json.Unmarshal(data, &config); err != nil {
		return "", ""
	}
	return config.CurrentContext, path
}

// contextEndpoint is the address that a context names. The folders of a context bear the digest of its name.
func contextEndpoint(name string) (endpoint, error) {
	sum := sha256.Sum256([]byte(name))
	id := hex.EncodeToString(sum[:])
	data, err := os.ReadFile(filepath.Join(configDir(), "contexts", "meta", id, "meta.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return endpoint{}, errors.New("there is no such context")
	}
	if err != nil {
		return endpoint{}, err
	}
	var meta struct {
		Endpoints map[string]struct {
			Host          string
			SkipTLSVerify bool
		}
	}
	if err := json.Unmarshal(data, &meta); err != nil {
		return endpoint{}, err
	}
	docker := meta.Endpoints["docker"]
	if docker.Host == "" {
		return endpoint{}, errors.New("it names no address")
	}
	if docker.SkipTLSVerify {
		return endpoint{}, errors.New("it asks not to verify the daemon's certificate, which is not done here")
	}
	point := endpoint{host: docker.Host, named: fmt.Sprintf("context %q", name)}
	tls := filepath.Join(configDir(), "contexts", "tls", id, "docker")
	if _, err := os.Stat(tls); err == nil {
		point.options = append(point.options, client.WithTLSClientConfig(
			existing(tls, "ca.pem"), existing(tls, "cert.pem"), existing(tls, "key.pem")))
	}
	return point, nil
}

// existing is the path of a file in dir, or empty where it is not there.
func existing(dir, name string) string {
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// remote tells addresses through which no daemon of this machine is reached.
func (p endpoint) remote() bool {
	return strings.HasPrefix(p.host, "ssh://")
}

func (p endpoint) String() string {
	if p.named == "" {
		return p.host
	}
	return fmt.Sprintf("%s (%s)", p.host, p.named)
}
