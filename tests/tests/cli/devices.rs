//! `nstage devices`.

use crate::nstage;

#[test]
fn the_simulator_is_there_and_the_missing_driver_is_explained() {
    let ran = nstage(&["devices"]).ends(0);
    assert!(
        ran.out.starts_with("sim     nstage simulator"),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains(
            "no CUDA driver: /nonexistent/libcuda.so.1 not found (tried /nonexistent/libcuda.so.1)"
        ),
        "{}",
        ran.out
    );
    assert_eq!(ran.err, "");
}

#[test]
fn json_has_one_object_a_device() {
    let devices = nstage(&["devices", "--format", "json"]).ends(0).json();
    assert_eq!(devices[0]["id"], "sim");
    assert_eq!(devices[0]["shared_bytes_per_block"], 232_448);
    assert_eq!(
        (&devices[1]["id"], &devices[1]["available"]),
        (&"cuda".into(), &false.into())
    );
}
