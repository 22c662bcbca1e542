"""Prints, one fact a line, what reached a Python driver and its executors; ends with the status in its first argument."""

import sys

import greeter  # from --py-files
from pyspark import SparkFiles
from pyspark.sql import SparkSession


def read(path: str) -> str:
    with open(path, encoding="utf-8") as text:
        return text.read().strip()


def in_executor(name: str) -> str:
    import greeter

    return f"{greeter.greet(name)} [{read(SparkFiles.get('data.txt'))}] [{read(SparkFiles.get('unpacked') + '/inner.txt')}]"


def main(status: str, *arguments: str) -> None:
    for index, argument in enumerate(arguments):
        print(f"PROBE argument {index} [{argument}]")
    print(f"PROBE driver {greeter.greet('driver')} [{read('data.txt')}] [{read('unpacked/inner.txt')}]")
    with SparkSession.builder.getOrCreate() as spark:
        for fact in spark.sparkContext.parallelize(["executor"], 1).map(in_executor).collect():
            print(f"PROBE {fact}")
    sys.exit(int(status))


main(*sys.argv[1:])
