package main

const sysVMReadv = 270
