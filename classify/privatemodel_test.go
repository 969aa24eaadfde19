package classify

import (
	"bytes"
	"strings"
	"testing"
)

// privateModel is a small private model.
func privateModel(t *testing.T) *Model {
	t.Helper()
	s := newPrivateStores()
	out, err := s.fit(t, privateRows(6), privateTestOptions(6), nil)
	if err != nil {
		t.Fatal(err)
	}
	return out.Model
}

// A private model survives its file, and its claim cannot be changed in one place only.
func TestPrivateModelFile(t *testing.T) {
	m := privateModel(t)
	var b bytes.Buffer
	if err := WriteModel(&b, m); err != nil {
		t.Fatal(err)
	}
	again, err := ReadModel(bytes.NewReader(b.Bytes()), "m")
	if err != nil {
		t.Fatal(err)
	}
	var c bytes.Buffer
	if err := WriteModel(&c, again); err != nil || !bytes.Equal(b.Bytes(), c.Bytes()) {
		t.Errorf("%v: written again:\n%s\nfirst:\n%s", err, &c, &b)
	}
	if m.Privacy.Statement.Private || !strings.Contains(m.Privacy.Text, "NOT PRIVATE") {
		t.Error("noise from a seed is said to be private")
	}
	for _, r := range []struct{ old, new, want string }{
		{`"version": 1`, `"version": 3`, "reads version 1"},
		{`"labels": `, `"measure": "f1","labels": `, "measure: a private model has none"},
		{`"epsilon":1,`, `"epsilon":0.1,`, "privacy.statement: says something else"},
		{`"insecure":true`, `"insecure":false`, "privacy.statement: says something else"},
		{`"text":"NOT PRIVATE`, `"text":"PRIVATE`, "privacy.statement: says something else"},
		{`"algorithm": "private-tofw"`, `"algorithm": "private-pofw"`, `want "private-tofw"`},
		{`"mechanism":"tofw"`, `"mechanism":"dpsgd"`, "privacy.mechanism: "},
		{`"noise":"square-root"`, `"noise":"none"`, "privacy.noise: "},
		{`"loss":"logistic"`, `"loss":"hinge"`, "privacy.loss: "},
		{`"norm":"2"`, `"norm":"0"`, "privacy.norm: "},
		{`"clip":0.5,`, `"clip":0,`, "privacy.clip: 0, want"},
		{`"records":6,`, `"records":7,`, "privacy.records: 7, want 0 to horizon"},
		{`"account":"data",`, ``, "account"},
		{`["1","-1"]`, `["1","-1","0"]`, "labels: 3 labels of binary data, want two"},
		{`"intercept":`, `"intercept":1`, "checksum"},
	} {
		text := strings.Replace(b.String(), r.old, r.new, 1)
		if text == b.String() {
			t.Fatalf("%s is not in the file", r.old)
		}
		if _, err := ReadModel(strings.NewReader(text), "m"); err == nil || !strings.Contains(err.Error(), r.want) {
			t.Errorf("%s: %v, want %s", r.new, err, r.want)
		}
	}
}
