package join

import (
	"strconv"
	"strings"
)

// ReadUnits decodes a payload of the form that [EncodeUnits] writes, ten times as fast as strict
// JSON does. It reports false for every other payload, also for those that mean the same, and for
// what would be an error. Everything that it reads, strict JSON reads in the same way.
func ReadUnits(payload []byte, p *Units) bool {
	r := unitsReader{text: string(payload)}
	if r.event(p); r.odd {
		*p = Units{}
	}
	return !r.odd
}

// unitsReader is the reader of [ReadUnits]. It sets odd for what that does not read.
type unitsReader struct {
	text string // the rest
	odd  bool
	// known are texts that were read, from a propensity to the next field, as the units of an arm
	// have the same one.
	known [4]struct {
		text  string
		value float64
	}
}

// take reads a text and reports whether it is there.
func (r *unitsReader) take(s string) bool {
	if !strings.HasPrefix(r.text, s) {
		return false
	}
	r.text = r.text[len(s):]
	return true
}

func (r *unitsReader) want(s string) {
	if !r.take(s) {
		r.odd = true
	}
}

func (r *unitsReader) event(p *Units) {
	r.want(`{"experiment":"`)
	p.Experiment = r.name()
	r.want(`,"items":[{`)
	p.Items = make([]Unit, 0, 1+len(r.text)/64)
	for more := true; more && !r.odd; {
		p.Items = append(p.Items, Unit{})
		r.unit(&p.Items[len(p.Items)-1])
		more = r.take(",{")
	}
	r.want("]")
	if r.take(`,"rejected":`) {
		p.Rejected = r.integer()
	}
	if r.text != "}" {
		r.odd = true
	}
}

// unit reads a unit without its opening brace.
func (r *unitsReader) unit(e *Unit) {
	r.want(`"v":`)
	e.Version = uint64(r.digits())
	r.want(`,"a":`)
	arm := r.integer()
	if arm < 0 || arm > 1<<30 { // it may not fit an int
		r.odd, arm = true, 0
	}
	e.Arm = int(arm)
	r.want(`,"p":`)
	k := &r.known[e.Arm&3]
	if k.text == "" || !r.take(k.text) {
		rest := r.text
		k.value = r.number()
		r.want(`,"u":"`)
		k.text = rest[:len(rest)-len(r.text)]
	}
	e.Propensity = k.value
	e.Unit = r.name()
	r.want(`,"t":`)
	e.Time = r.integer()
	if r.take(`,"m":{"`) {
		e.Metrics = make(map[string]float64, 2)
		for more := true; more && !r.odd; {
			name := r.name()
			r.want(":")
			if _, twice := e.Metrics[name]; twice {
				r.odd = true
			}
			e.Metrics[name] = r.number()
			more = r.take(`,"`)
		}
		r.want("}")
	}
	r.want("}")
}

// name reads a string without escapes, up to the quote after it.
func (r *unitsReader) name() string {
	n := strings.IndexByte(r.text, '"')
	if n < 0 || !plain(r.text[:n]) {
		r.odd = true
		return ""
	}
	s := r.text[:n]
	r.text = r.text[n+1:]
	return s
}

// digits reads a whole number of at most 18 digits.
func (r *unitsReader) digits() (v int64) {
	n := 0
	for ; n < len(r.text) && r.text[n] >= '0' && r.text[n] <= '9' && n < 19; n++ {
		v = 10*v + int64(r.text[n]-'0')
	}
	if n == 0 || n == 19 || n > 1 && r.text[0] == '0' {
		r.odd = true
	}
	r.text = r.text[n:]
	return v
}

// integer reads a whole number, except -0.
func (r *unitsReader) integer() int64 {
	if !r.take("-") {
		return r.digits()
	}
	v := r.digits()
	if v == 0 {
		r.odd = true
	}
	return -v
}

// number reads a number without an exponent.
func (r *unitsReader) number() float64 {
	all := r.text
	r.take("-")
	r.digits()
	if r.take(".") {
		n := 0
		for n < len(r.text) && r.text[n] >= '0' && r.text[n] <= '9' {
			n++
		}
		if n == 0 {
			r.odd = true
		}
		r.text = r.text[n:]
	}
	v, err := strconv.ParseFloat(all[:len(all)-len(r.text)], 64)
	if err != nil {
		r.odd = true
	}
	return v
}
