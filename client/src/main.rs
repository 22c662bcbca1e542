//! `airlock`: see `run`.

use std::process::ExitCode;

fn main() -> ExitCode {
    shared::tls::install_crypto_provider();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    match runtime {
        Ok(runtime) => {
            let code = runtime.block_on(client::run::run(std::env::args_os()));
            // A stray request must not delay the end.
            runtime.shutdown_background();
            code
        }
        Err(_) => ExitCode::from(shared::error_code::ErrorCode::Bug.exit_status()),
    }
}
