// Command wasm-fetch brings a Wasm module from a registry as Istio's agent does for a WasmPlugin, with the agent's own
// cache and image fetcher, and prints where it put the file.
//
//	wasm-fetch FOLDER oci://REGISTRY/NAME:TAG [SHA256]
//
// SHA256 stands for the field of that name: 64 hexadecimal digits, those of the image's manifest.
package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"istio.io/istio/pkg/log"
	"istio.io/istio/pkg/wasm"
)

// As long as the agent gives to a download.
const timeout = 30 * time.Second

func main() {
	words := log.DefaultOptions()
	words.OutputPaths = []string{"stderr"}
	if err := log.Configure(words); err != nil {
		panic(err)
	}
	path, err := fetch(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(path)
}

func fetch(args []string) (string, error) {
	if len(args) < 2 || len(args) > 3 {
		return "", errors.New("usage: wasm-fetch FOLDER URL [SHA256]")
	}
	options := wasm.GetOptions{RequestTimeout: timeout}
	if len(args) == 3 {
		options.Checksum = args[2]
	}
	return wasm.NewLocalFileCache(args[0], wasm.Options{}).Get(args[1], options)
}
