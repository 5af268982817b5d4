package main

const sysVMReadv, sysMqOpen = 310, 240
