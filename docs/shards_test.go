package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestShardsJob runs the command of every pod of the Kubernetes job, on files here, and merges. The
// page shows the job as it is in the repository.
func TestShardsJob(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../deploy/shards/job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("how-to/several-machines.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```yaml\n"+string(text)+"```") {
		t.Error("the page has another job than deploy/shards/job.yaml")
	}
	var job struct {
		Kind string
		Spec struct {
			CompletionMode string `yaml:"completionMode"`
			Completions    int
			Template       struct {
				Spec struct {
					Containers []struct {
						Args         []string
						VolumeMounts []struct {
							MountPath string `yaml:"mountPath"`
						} `yaml:"volumeMounts"`
					}
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &job); err != nil {
		t.Fatal(err)
	}
	if job.Kind != "Job" || job.Spec.CompletionMode != "Indexed" || job.Spec.Completions != 8 {
		t.Fatalf("%+v", job)
	}
	command, dir := commandPath(t), t.TempDir()
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(command, args...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	run("generate", "g1", "--rows", "8000", "--output", filepath.Join(dir, "train.svm.gz"))
	pod := job.Spec.Template.Spec.Containers[0]
	merge := []string{"merge", "--model", filepath.Join(dir, "model.json")}
	for _, index := range []string{"0", "1", "2", "3", "4", "5", "6", "7"} {
		var args []string
		for _, a := range pod.Args {
			a = strings.ReplaceAll(a, "$(JOB_COMPLETION_INDEX)", index)
			for _, m := range pod.VolumeMounts {
				a = strings.ReplaceAll(a, m.MountPath, dir)
			}
			args = append(args, a)
		}
		run(args...)
		merge = append(merge, filepath.Join(dir, "part-"+index+".json"))
	}
	run(merge...)
}
