package airlock.dependency;

/** Lives in a jar of its own: only executors that got that jar can load it. */
public final class Greeter {
  public static String greet(String name) {
    return "hello " + name;
  }
}
