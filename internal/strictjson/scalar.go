package strictjson

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

func isScalar(t reflect.Type) bool {
	switch p := reflect.PointerTo(t); {
	case p.Implements(jsonType) || p.Implements(textType) || p.Implements(formType):
		return false
	default:
		k := t.Kind()
		return k == reflect.String || k == reflect.Bool || k >= reflect.Int && k <= reflect.Float64
	}
}

// withoutFraction returns the digits of a number that is whole although it has a fraction or an
// exponent, and other tokens as they are.
func withoutFraction(t token) token {
	if !t.number() || !bytes.ContainsAny(t, ".eE") {
		return t
	}
	x, err := strconv.ParseFloat(string(t), 64)
	if err != nil || math.Abs(x) > 1<<53 || x != math.Trunc(x) {
		return t
	}
	text := strconv.FormatInt(int64(x), 10)
	if NumberKey(string(t)) != NumberKey(text) { // 1.00000000000000001 is not whole, its float64 is
		return t
	}
	return token(text)
}

// NumberKey returns a text that two JSON numbers share if and only if they are equal (1, 1.0 and
// 10e-1): the digits without zeros at either end and the power of ten of the last one, or 0.
func NumberKey(text string) string {
	sign := ""
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		sign, text = "-", rest
	}
	digits, exponent := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		digits = text[:i]
		// Atoi clamps the exponent to the range of int.
		exponent, _ = strconv.Atoi(strings.TrimPrefix(text[i+1:], "+"))
	}
	if whole, part, ok := strings.Cut(digits, "."); ok {
		digits = whole + part
		exponent -= len(part)
	}
	digits = strings.TrimLeft(digits, "0")
	if digits == "" {
		return "0"
	}
	cut := strings.TrimRight(digits, "0")
	return sign + cut + "e" + strconv.Itoa(exponent+len(digits)-len(cut))
}

// set stores a scalar and reports whether v can hold it.
func set(v reflect.Value, t token) bool {
	switch {
	case t[0] == 't' || t[0] == 'f':
		if v.Kind() == reflect.Bool {
			v.SetBool(t[0] == 't')
			return true
		}
	case t[0] == '"':
		if v.Kind() == reflect.String {
			v.SetString(t.text())
			return true
		}
	case !t.number():
	case v.CanFloat():
		x, err := strconv.ParseFloat(string(t), v.Type().Bits())
		v.SetFloat(x)
		return err == nil
	case v.CanInt():
		x, err := strconv.ParseInt(string(t), 10, v.Type().Bits())
		v.SetInt(x)
		return err == nil
	case v.CanUint():
		x, err := strconv.ParseUint(string(t), 10, v.Type().Bits())
		v.SetUint(x)
		return err == nil
	}
	return false
}

// wanted describes the values of a scalar type.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return fmt.Sprintf("a number in the range of float%d", t.Bits())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("an integer from 0 to %d", ^uint64(0)>>(64-t.Bits()))
	default:
		most := int64(1)<<(t.Bits()-1) - 1
		return fmt.Sprintf("an integer from %d to %d", -most-1, most)
	}
}
