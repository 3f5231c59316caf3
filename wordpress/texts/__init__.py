"""The texts of an export: conversion of WordPress's HTML and shortcodes to the HTML and Markdown of this site."""
