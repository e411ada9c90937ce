// What a function in Go uses. docs/functions.md describes requests, responses and operations.
package main

import (
	"encoding/json"
	"errors"
	"unsafe"
)

type Request struct {
	Method  string      `json:"method"`
	URL     string      `json:"url"`
	Headers [][2]string `json:"headers"`
	Body    string      `json:"body"`
	// Instead of Body, if the body is not text.
	BodyBase64 []byte `json:"body_base64"`
}

type Response struct {
	Status     int         `json:"status,omitempty"`
	Headers    [][2]string `json:"headers,omitempty"`
	Body       string      `json:"body,omitempty"`
	BodyBase64 []byte      `json:"body_base64,omitempty"`
}

// Call asks the platform for something, and decodes what it returns into result, unless that is nil.
func Call(operation string, argument any, result any) error {
	text, err := json.Marshal(argument)
	if err != nil {
		return err
	}
	name := []byte(operation)
	packed := callPlatform(unsafe.Pointer(&name[0]), uint32(len(name)), unsafe.Pointer(&text[0]), uint32(len(text)))
	var answer struct {
		Ok    json.RawMessage `json:"ok"`
		Error *struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	place := uint32(uint64(packed) >> 32)
	if err := json.Unmarshal(reserved[place], &answer); err != nil {
		return err
	}
	delete(reserved, place)
	if answer.Error != nil {
		return errors.New(answer.Error.Code + ": " + answer.Error.Message)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer.Ok, result)
}

//go:wasmimport stead call
func callPlatform(operation unsafe.Pointer, operationSize uint32, argument unsafe.Pointer, argumentSize uint32) int64

// What the platform writes to. It does not hold references that the garbage collector sees.
var reserved = map[uint32][]byte{}
var response []byte

//go:wasmexport stead_alloc
func reserve(size uint32) uint32 {
	made := make([]byte, size, size+1)
	place := uint32(uintptr(unsafe.Pointer(unsafe.SliceData(made))))
	reserved[place] = made
	return place
}

//go:wasmexport stead_handle
func respond(place uint32, size uint32) uint64 {
	var request Request
	text := reserved[place]
	clear(reserved)
	if err := json.Unmarshal(text, &request); err != nil {
		panic(err)
	}
	response, _ = json.Marshal(handle(request))
	return uint64(uintptr(unsafe.Pointer(&response[0])))<<32 | uint64(len(response))
}

func main() {}
