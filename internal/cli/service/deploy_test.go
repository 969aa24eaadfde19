package service

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/noregret/noregret/internal/cli/clitest"
)

// TestDeployedFlags: what the unit of systemd, the manifests of Kubernetes and the container image
// run is a call of serve that is accepted, with flags and keys that exist.
func TestDeployedFlags(t *testing.T) {
	read := func(path string) string {
		t.Helper()
		b, err := os.ReadFile(filepath.Join("../../..", path))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	const config, secret = "/etc/noregret/serve.yaml", "/etc/noregret-cluster/secret"
	check := func(name, file string, variables []string, args ...string) {
		t.Helper()
		if len(args) == 0 || args[0] != "serve" {
			t.Fatalf("%s: %q is no call of serve", name, args)
		}
		args = args[1:]
		for i, a := range args {
			content := file
			switch a {
			case config:
			case secret:
				content = "sixteen bytes or more"
			default:
				continue
			}
			args[i] = filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(args[i], []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		o, _, err := configure(t, "", variables, args...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if o.Tokens == "" || !filepath.IsAbs(o.Data) || len(o.Unknown()) > 0 {
			t.Errorf("%s: access tokens %q, data %q, unknown variables %q", name, o.Tokens, o.Data, o.Unknown())
		}
	}

	line := func(text, pattern string) string {
		t.Helper()
		m := regexp.MustCompile("(?m)^" + pattern + "$").FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no line %s", pattern)
		}
		return m[1]
	}
	unit := read("deploy/systemd/noregret.service")
	for _, want := range []string{ // serve ends with status 1 when its log has failed for good
		"Restart=(on-failure)", "RestartPreventExitStatus=(2 3)", "StartLimitIntervalSec=(0)",
	} {
		line(unit, want)
	}
	start := line(unit, `ExecStart=\S+/noregret (.*)`)
	check("systemd", read("deploy/systemd/serve.yaml"), nil, strings.Fields(start)...)

	docker := read("Dockerfile")
	image := strings.Fields(line(docker, "ENV (.*)"))
	var command []string
	if err := json.Unmarshal([]byte(line(docker, "CMD (.*)")), &command); err != nil {
		t.Fatal(err)
	}
	check("image", "", image, command...)
	if line(docker, "FROM (.*) AS runtime") != "scratch" || strings.HasPrefix(line(docker, `USER (\d+:\d+)`), "0") {
		t.Error("the image is not made from scratch with an unprivileged user")
	}

	var set struct {
		Spec struct {
			Replicas    int
			ServiceName string `yaml:"serviceName"`
			Template    struct {
				Spec struct {
					Security   map[string]any `yaml:"securityContext"`
					Containers []struct {
						Args     []string
						Env      []struct{ Name, Value string }
						Security map[string]any `yaml:"securityContext"`
					}
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read("deploy/kubernetes/statefulset.yaml")), &set); err != nil {
		t.Fatal(err)
	}
	pod := set.Spec.Template.Spec
	c := pod.Containers[0]
	variables := image
	for _, e := range c.Env {
		variables = append(variables, e.Name+"="+e.Value)
	}
	check("kubernetes", read("deploy/kubernetes/serve.yaml"), variables, c.Args...)
	nodes := set
	nodes.Spec.Replicas = 0
	if err := yaml.Unmarshal([]byte(read("deploy/kubernetes-cluster/nodes.yaml")), &nodes); err != nil {
		t.Fatal(err)
	}
	cluster := nodes.Spec.Template.Spec.Containers[0].Args
	service := read("deploy/kubernetes-cluster/peers.yaml")
	if name := nodes.Spec.ServiceName; !strings.Contains(service, "name: "+name+"\n") || name == set.Spec.ServiceName {
		t.Errorf("the service of the peers is not %s", name)
	}
	for i := range nodes.Spec.Replicas {
		pod := fmt.Sprint("noregret-", i)
		var args []string
		for _, a := range cluster {
			args = append(args, strings.ReplaceAll(a, "$(POD_NAME)", pod))
		}
		check("kubernetes, "+pod, read("deploy/kubernetes/serve.yaml"), variables, args...)
	}
	if nodes.Spec.Replicas != 3 {
		t.Errorf("%d nodes", nodes.Spec.Replicas)
	}
	if c.Security["readOnlyRootFilesystem"] != true || c.Security["allowPrivilegeEscalation"] != false ||
		pod.Security["runAsNonRoot"] != true {
		t.Errorf("the container is not confined: %v, %v", pod.Security, c.Security)
	}
}

// TestDeployTools runs the tools that check units and manifests, where they are installed.
func TestDeployTools(t *testing.T) {
	unit, err := os.ReadFile("../../../deploy/systemd/noregret.service")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("systemd-analyze", func(t *testing.T) {
		tool, err := exec.LookPath("systemd-analyze")
		if err != nil {
			t.Skip("NOT RUN: systemd-analyze is not installed")
		}
		path := filepath.Join(t.TempDir(), "noregret.service")
		text := strings.ReplaceAll(string(unit), "/usr/local/bin/noregret", clitest.Built(t))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(tool, "verify", "--man=no", path).CombinedOutput(); err != nil {
			t.Errorf("systemd-analyze verify: %v\n%s", err, out)
		}
	})
	t.Run("kubectl", func(t *testing.T) {
		tool, err := exec.LookPath("kubectl")
		if err != nil {
			t.Skip("NOT RUN: kubectl is not installed")
		}
		for _, dir := range []string{"kubernetes", "kubernetes-cluster"} {
			out, err := exec.Command(tool, "kustomize", "../../../deploy/"+dir).CombinedOutput()
			if err != nil {
				t.Fatalf("kubectl kustomize: %v\n%s", err, out)
			}
			// The generated name of the configuration is that of the volume.
			name := regexp.MustCompile(`name: (noregret-[a-z0-9]{10})\n`).FindAllStringSubmatch(string(out), -1)
			if len(name) != 2 || name[0][1] != name[1][1] {
				t.Errorf("%s: the configuration and its volume: %q", dir, name)
			}
		}
	})
}
