package main

const sysVMReadv, sysMqOpen = 270, 180
