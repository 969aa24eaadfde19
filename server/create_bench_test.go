package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// BenchmarkCreate measures how long it takes to create an experiment beside many others.
func BenchmarkCreate(b *testing.B) {
	for _, others := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprint("others=", others), func(b *testing.B) {
			w := newWorld(b)
			n := 0
			create := func() {
				n++
				name := fmt.Sprintf("e%07d", n)
				r, err := http.NewRequest("PUT", w.http.URL+"/v1/experiments/"+name,
					strings.NewReader(strings.Replace(toy, "name: toy", "name: "+name, 1)))
				if err != nil {
					b.Fatal(err)
				}
				r.Header.Set("Content-Type", "application/yaml")
				resp, err := http.DefaultTransport.RoundTrip(r)
				if err != nil {
					b.Fatal(err)
				}
				_ = resp.Body.Close()
				if resp.StatusCode != http.StatusCreated {
					b.Fatal(resp.Status)
				}
			}
			begin := time.Now()
			for range others {
				create()
			}
			b.Log(others, "others took", time.Since(begin))
			for b.Loop() {
				create()
			}
		})
	}
}
