import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/** Counts the words of a file that was sent with {@code --files}: the driver finds it in its working directory. */
public final class WordCount {
  private static final int SHOWN = 5;

  public static void main(String[] args) throws Exception {
    List<String> lines = Files.readAllLines(Path.of(args[0]));
    try (SparkSession spark = SparkSession.builder().getOrCreate()) {
      JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
      JavaRDD<String> words = context.parallelize(lines, 4).flatMap(WordCount::words);
      List<Tuple2<String, Integer>> counts =
          words.mapToPair(word -> new Tuple2<>(word, 1)).reduceByKey(Integer::sum).collect();
      counts.stream()
          .sorted((a, b) -> a._2.equals(b._2) ? a._1.compareTo(b._1) : b._2 - a._2)
          .limit(SHOWN)
          .forEach(count -> System.out.println(count._1 + " " + count._2));
    }
  }

  private static java.util.Iterator<String> words(String line) {
    return Arrays.stream(line.toLowerCase().split("[^a-z]+")).filter(word -> !word.isEmpty()).iterator();
  }
}
