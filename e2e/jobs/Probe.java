package airlock;

import airlock.dependency.Greeter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.SparkFiles;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

/** Prints, one fact a line, what reached the driver and the executors; ends as {@code spark.probe.end} says. */
public final class Probe {
  public static void main(String[] arguments) throws Exception {
    for (int i = 0; i < arguments.length; i++) {
      say("argument " + i + " [" + arguments[i] + "]");
    }
    say("arguments " + arguments.length);
    String end;
    try (SparkSession spark = SparkSession.builder().getOrCreate()) {
      end = spark.conf().get("spark.probe.end", "return");
      say("literal [" + spark.conf().get("spark.probe.literal", "") + "]");
      say("driver file [" + read(Path.of("data.txt")) + "]");
      say("driver archive [" + read(Path.of("unpacked", "inner.txt")) + "]");
      bundle().forEach(Probe::sayDigest);
      say("staging " + Files.exists(Path.of("/var/airlock/staging")));
      JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
      context.parallelize(List.of("executor"), 1).map(Probe::inExecutor).collect().forEach(Probe::say);
    }
    switch (end) {
      case "throw" -> throw new IllegalStateException("the probe was told to throw");
      case "return" -> say("returns");
      default -> System.exit(Integer.parseInt(end));
    }
  }

  private static String inExecutor(String name) throws IOException {
    String file = read(Path.of(SparkFiles.get("data.txt")));
    String archive = read(Path.of(SparkFiles.get("unpacked"), "inner.txt"));
    return Greeter.greet(name) + " [" + file + "] [" + archive + "]";
  }

  private static Stream<Path> bundle() throws IOException {
    return Files.walk(Path.of("/var/airlock/bundle")).filter(Files::isRegularFile);
  }

  private static void sayDigest(Path file) {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file));
      say("digest " + HexFormat.of().formatHex(digest) + " " + file.getFileName());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (java.security.NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  private static String read(Path path) throws IOException {
    return Files.readString(path).strip();
  }

  private static void say(String fact) {
    System.out.println("PROBE " + fact);
  }
}
