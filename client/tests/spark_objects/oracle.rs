//! Spark's own builder of drivers, the one that its spark-submit uses, in one JVM over all questions.

use serde_json::Value;

use crate::spark_jvm;

/// A question is main resource, class, application's id, Hadoop's configuration folder, then keys and values, with NUL between
/// them. The answer is one line of JSON: pod, other objects, properties.
const ORACLE: &str = r#"
import io.fabric8.kubernetes.client.*;
import io.fabric8.kubernetes.client.utils.Serialization;
import io.fabric8.kubernetes.api.model.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import org.apache.spark.SparkConf;
import org.apache.spark.deploy.k8s.*;
import org.apache.spark.deploy.k8s.submit.*;
import scala.collection.JavaConverters;

public class ObjectsOracle {
    /// The environment is the question's.
    static class Conf extends SparkConf {
        final String hadoop;
        Conf(String hadoop) { super(false); this.hadoop = hadoop; }
        @Override public String getenv(String name) {
            return name.equals("HADOOP_CONF_DIR") ? (hadoop.isEmpty() ? null : hadoop) : super.getenv(name);
        }
    }

    static MainAppResource resource(String text) {
        if (text.endsWith(".py")) return new PythonMainAppResource(text);
        if (text.endsWith(".R")) return new RMainAppResource(text);
        return new JavaMainAppResource(scala.Option.apply(text));
    }

    static <T> List<T> list(scala.collection.Iterable<T> items) {
        return JavaConverters.seqAsJavaListConverter(items.toSeq()).asJava();
    }

    static String answer(String[] parts, KubernetesClient client) throws Exception {
        SparkConf conf = new Conf(parts[3]);
        for (int i = 4; i + 1 < parts.length; i += 2) conf.set(parts[i], parts[i + 1]);
        // Newer ones have a clock at the end, and a second constructor without an option.
        var constructor = Arrays.stream(KubernetesDriverConf.class.getConstructors())
            .filter(it -> it.getParameterTypes()[5] == scala.Option.class).findFirst().get();
        Object[] values = {conf, parts[2], resource(parts[0]), parts[1], new String[0], scala.Option.empty(),
            new org.apache.spark.util.SystemClock()};
        KubernetesDriverConf driver =
            (KubernetesDriverConf) constructor.newInstance(Arrays.copyOf(values, constructor.getParameterCount()));
        KubernetesDriverSpec built = new KubernetesDriverBuilder().buildFromFeatures(driver, client);
        Map<String, Object> all = new TreeMap<>();
        all.put("pod", new PodBuilder(built.pod().pod()).editSpec().addToContainers(built.pod().container()).endSpec().build());
        List<Object> objects = new ArrayList<>(list(built.driverPreKubernetesResources()));
        objects.addAll(list(built.driverKubernetesResources()));
        all.put("objects", objects);
        all.put("properties", JavaConverters.mapAsJavaMapConverter(built.systemProperties()).asJava());
        return Serialization.jsonMapper().writeValueAsString(all).replace(driver.resourceNamePrefix(), "PREFIX");
    }

    public static void main(String[] arguments) throws Exception {
        var config = new io.fabric8.kubernetes.client.ConfigBuilder(io.fabric8.kubernetes.client.Config.empty())
            .withMasterUrl("http://127.0.0.1:1").build();
        KubernetesClient client = new KubernetesClientBuilder().withConfig(config).build();
        var out = new java.io.PrintStream(arguments[1], StandardCharsets.UTF_8);
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] parts = new String(HexFormat.of().parseHex(line), StandardCharsets.UTF_8).split("\0", -1);
            try {
                out.println(answer(parts, client));
            } catch (Exception error) {
                out.println(Serialization.jsonMapper().writeValueAsString(Map.of("refused", error.toString())));
            }
        }
        out.close();
        System.exit(0);
    }
}
"#;

/// Spark's answers to `questions`, whose parts are joined by NUL.
pub(crate) fn theirs(questions: &[String]) -> Vec<Value> {
    let answers = spark_jvm::ask("ObjectsOracle", ORACLE, questions);
    answers.iter().map(|answer| serde_json::from_str(answer).unwrap()).collect()
}
