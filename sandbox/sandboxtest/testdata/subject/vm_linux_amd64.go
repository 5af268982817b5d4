package main

const sysVMReadv = 310
