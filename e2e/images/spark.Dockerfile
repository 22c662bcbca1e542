# The Spark that the tests run: Debian's Java and Python, PyPI's Spark, an entry point that behaves as upstream's.
# The tars come from scripts/images, which also says why there is no RUN.
FROM scratch
ADD rootfs.tar /
ADD spark.tar /
COPY entrypoint.sh /opt/entrypoint.sh
ENV SPARK_HOME=/opt/spark \
    JAVA_HOME=/usr/lib/jvm/default-java \
    HOME=/opt/spark/work-dir \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/spark/bin
# Spark itself only finds its Python code for programs that spark-submit starts; a plain python3 shall, too.
ENV PYTHONPATH=$SPARK_HOME/python:$SPARK_HOME/python/lib/py4j-0.10.9.9-src.zip
WORKDIR /opt/spark/work-dir
USER 185:0
ENTRYPOINT ["/opt/entrypoint.sh"]
