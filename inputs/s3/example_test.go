package s3_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/noregret/noregret/inputs/s3"
)

func Example() {
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, r.URL.Path, time.Time{}, strings.NewReader("a,y\n1,0\n"))
	}))
	defer store.Close()
	c, err := s3.Environment(func(name string) string {
		return map[string]string{"AWS_ENDPOINT_URL": store.URL}[name]
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	o, err := s3.Open(context.Background(), "s3://bucket/data.csv", c)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(o.Size(), "bytes")
	if _, err := io.Copy(os.Stdout, o); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 8 bytes
	// a,y
	// 1,0
}
