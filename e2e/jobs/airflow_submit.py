"""Submits by Airflow's own SparkSubmitHook and prints as JSON what the hook found out.

The first argument is JSON: `hook`, the hook's arguments; `application`; `kill`, whether to kill the driver once its pod is
known. The connection and the cluster come from Airflow's environment variables.
"""

import json
import sys
import threading

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook


class Hook(SparkSubmitHook):
    """The hook, with an event for the moment in which it knows its driver pod."""

    found = threading.Event()

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name == "_kubernetes_driver_pod" and value:
            self.found.set()


def main():
    request = json.loads(sys.argv[1])
    hook = Hook(**request["hook"])
    outcome = {"error": None}

    def submit():
        try:
            hook.submit(request["application"])
        except Exception as error:  # whatever the hook raises is what Airflow would show
            outcome["error"] = f"{type(error).__name__}: {error}"

    submitting = threading.Thread(target=submit)
    submitting.start()
    if request.get("kill"):
        outcome["found"] = hook.found.wait(120)
        hook.on_kill()
    submitting.join()
    outcome["pod"] = hook._kubernetes_driver_pod
    outcome["application"] = hook._kubernetes_application_id
    outcome["exit_code"] = hook._spark_exit_code
    print(json.dumps(outcome))


main()
