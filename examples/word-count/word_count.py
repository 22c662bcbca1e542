"""Counts the words of a file that was sent with --files: the driver finds it in its working directory."""

import re
import sys
from operator import add

from pyspark.sql import SparkSession

SHOWN = 5


def main(path: str) -> None:
    with open(path, encoding="utf-8") as text:
        lines = text.read().splitlines()
    with SparkSession.builder.getOrCreate() as spark:
        words = spark.sparkContext.parallelize(lines, 4).flatMap(lambda line: re.findall("[a-z]+", line.lower()))
        counts = words.map(lambda word: (word, 1)).reduceByKey(add).collect()
    for word, count in sorted(counts, key=lambda pair: (-pair[1], pair[0]))[:SHOWN]:
        print(word, count)


if __name__ == "__main__":
    main(sys.argv[1])
