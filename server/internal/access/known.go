package access

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// Known is what is remembered of an access token, so that a later change is noticed. It has no
// token and no hash of one.
type Known struct {
	Name string `json:"name"`
	// Token and Rest are hashes of the token's hash, and of what the token allows.
	Token string `json:"token"`
	Rest  string `json:"rest"`
}

// Known returns what to remember of the present tokens, in the file's order.
func (t *Tokens) Known() []Known {
	out := []Known{}
	if list := t.principals.Load(); list != nil {
		for i := range *list {
			out = append(out, knownOf((*list)[i]))
		}
	}
	return out
}

func knownOf(p Principal) Known {
	sum := func(b []byte) string {
		s := sha256.Sum256(b)
		return hex.EncodeToString(s[:])
	}
	k := Known{Name: p.Name, Token: sum(p.Hash[:])}
	p.Hash = Hash{}
	rest, err := json.Marshal(struct {
		Principal
		Origins []string
	}{p, p.Origins.list})
	if err != nil {
		panic(err) // impossible: texts and a finite number
	}
	k.Rest = sum(rest)
	return k
}

// Changes says which tokens were added, removed and changed between two times, by their names, ""
// for none.
func Changes(before, after []Known) string {
	var out []string
	find := func(in []Known, name string) *Known {
		for i := range in {
			if in[i].Name == name {
				return &in[i]
			}
		}
		return nil
	}
	for i := range after {
		switch was := find(before, after[i].Name); {
		case was == nil:
			out = append(out, after[i].Name+" added")
		case was.Token != after[i].Token:
			out = append(out, after[i].Name+" has another token")
		case was.Rest != after[i].Rest:
			out = append(out, after[i].Name+" changed")
		}
	}
	for i := range before {
		if find(after, before[i].Name) == nil {
			out = append(out, before[i].Name+" removed")
		}
	}
	return strings.Join(out, ", ")
}
