//! `nstage run` on the simulator.

use std::path::Path;

use serde_json::Value;

use crate::{data, nstage};

#[test]
fn every_kernel_at_every_depth_is_verified() {
    let ran = nstage(&["run", "--elements", "5003"]).ends(0);
    let mut lines = ran.out.lines();
    let head = lines.next().unwrap_or_default();
    assert_eq!(
        head,
        "device  sim (nstage simulator): no CUDA driver: /nonexistent/libcuda.so.1 not found"
    );
    for kernel in [
        "kernel_sync",
        "simple_async",
        "kernel_async_pipeline",
        "sum",
        "blur",
    ] {
        let rows = ran
            .out
            .lines()
            .filter(|line| line.split(' ').next() == Some(kernel));
        assert!(
            rows.clone().all(|row| row.contains(" verified ")),
            "{}",
            ran.out
        );
        assert!(rows.count() >= 1, "{kernel} is missing:\n{}", ran.out);
    }
    assert_eq!(ran.err, "");
}

#[test]
fn json_has_the_fields_that_programs_read() {
    let ran = nstage(&[
        "run",
        "sum",
        "kernel_async_pipeline",
        "--stages",
        "3",
        "--elements",
        "3000",
        "--device",
        "sim",
        "--format",
        "json",
    ])
    .ends(0);
    let rows = ran.json();
    assert_eq!(rows.len(), 3, "{}", ran.out);
    for row in &rows {
        assert_eq!(
            (&row["stages"], &row["device"], &row["elements"]),
            (&3.into(), &"sim".into(), &3000.into())
        );
        assert_eq!(row["verified"], true);
        for number in ["max_abs_error", "max_rel_error", "seconds"] {
            assert!(row[number].is_f64(), "{number} in {row}");
        }
    }
    assert!(rows[0]["result"].is_f64());
    assert_eq!(rows[1].get("result"), None);
    assert_eq!(
        (&rows[1]["schedule"], &rows[2]["schedule"]),
        (&"one".into(), &"two".into())
    );
}

#[test]
fn json_has_null_where_it_has_no_number() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nan.npy");
    npyz::to_file_1d(&path, vec![1.0_f32, f32::NAN]).unwrap();
    let path = path.to_str().unwrap();
    let arguments = [
        "run", "sum", "--stages", "2", "--device", "sim", "--format", "json",
    ];
    let ran = nstage(&[&arguments[..], &["--input", path]].concat()).ends(0);
    let row = &ran.json()[0];
    assert_eq!(
        (&row["verified"], &row["result"]),
        (&true.into(), &Value::Null)
    );
}

#[test]
fn a_sum_is_the_same_at_every_depth() {
    let ran = nstage(&[
        "run",
        "sum",
        "--input",
        &data("ecg.npy"),
        "--device",
        "sim",
        "--format",
        "json",
    ])
    .ends(0);
    let results: Vec<Value> = ran.json().iter().map(|row| row["result"].clone()).collect();
    assert!(
        results.len() > 2 && results.windows(2).all(|pair| pair[0] == pair[1]),
        "{results:?}"
    );
    let values = floats(Path::new(&data("ecg.npy")));
    let expected: f64 = values.iter().copied().map(f64::from).sum();
    let got = results[0].as_f64().unwrap();
    assert!(
        (got - expected).abs() <= 1e-6 * expected.abs(),
        "{got} for {expected}"
    );
}

/// The elements of a float32 file.
fn floats(path: &Path) -> Vec<f32> {
    let file = std::fs::File::open(path).unwrap();
    npyz::NpyFile::new(std::io::BufReader::new(file))
        .unwrap()
        .into_vec()
        .unwrap()
}

#[test]
fn a_photograph_is_blurred_into_a_picture() {
    let folder = tempfile::tempdir().unwrap();
    let (png, npy) = (folder.path().join("out.png"), folder.path().join("out.npy"));
    for output in [&png, &npy] {
        let output = output.to_str().unwrap();
        let arguments = [
            "run",
            "blur",
            "--input",
            &data("camera.npy"),
            "--stages",
            "3",
            "--device",
            "sim",
            "--output",
            output,
        ];
        nstage(&arguments).ends(0);
    }
    let (before, after) = (floats(Path::new(&data("camera.npy"))), floats(&npy));
    let picture = image::open(&png).unwrap().to_luma8();
    assert_eq!(picture.dimensions(), (512, 512));
    for (sample, value) in picture.iter().zip(&after) {
        assert_eq!(f32::from(*sample), (value.clamp(0.0, 1.0) * 255.0).round());
    }
    // What a person sees: neighbours differ far less.
    let roughness = |values: &[f32]| -> f32 {
        values
            .windows(2)
            .map(|pair| (pair[0] - pair[1]).abs())
            .sum()
    };
    assert!(roughness(&after) < 0.6 * roughness(&before));
}

#[test]
fn a_png_is_taken_and_given() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let colour = image::RgbImage::from_fn(37, 21, |x, y| {
        image::Rgb([(7 * x) as u8, (11 * y) as u8, 128])
    });
    colour.save(path("in.png")).unwrap();
    let ran = nstage(&[
        "run",
        "blur",
        "--stages",
        "2",
        "--device",
        "sim",
        "--input",
        &path("in.png"),
        "--output",
        &path("out.png"),
    ])
    .ends(0);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert!(ran.err.contains("colour converted to luma"), "{}", ran.err);
    assert_eq!(
        image::open(path("out.png"))
            .unwrap()
            .to_luma8()
            .dimensions(),
        (37, 21)
    );
}

#[test]
fn other_number_types_are_converted_with_a_notice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ints.npy");
    let values: Vec<i16> = (0..700).map(|i| i * 3 - 900).collect();
    npyz::to_file_1d(&path, values).unwrap();
    let path = path.to_str().unwrap();
    let ran = nstage(&["run", "kernel_sync", "--device", "sim", "--input", path]).ends(0);
    assert_eq!(
        ran.err,
        format!("notice: {path}: int16 converted to float32\n")
    );
}

#[test]
fn special_values_pass_through() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in.npy"), folder.path().join("out.npy"));
    let mut values: Vec<f32> = (0..3001).map(|i| i as f32).collect();
    values[0] = f32::NAN;
    values[1500] = f32::INFINITY;
    values[3000] = f32::NEG_INFINITY;
    npyz::to_file_1d(&input, values).unwrap();
    let [input, out] = [&input, &output].map(|path| path.to_str().unwrap());
    nstage(&[
        "run",
        "kernel_async_pipeline",
        "--stages",
        "4",
        "--schedule",
        "one",
        "--device",
        "sim",
        "--input",
        input,
        "--output",
        out,
    ])
    .ends(0);
    let result = floats(&output);
    assert!(
        result[0].is_nan() && result[1500] == f32::INFINITY && result[3000] == f32::NEG_INFINITY
    );
    assert!(result[1].is_finite());
}

#[test]
fn without_a_kernel_what_an_input_does_not_suit_is_left_out() {
    let ran = nstage(&[
        "run",
        "--stages",
        "2",
        "--device",
        "sim",
        "--input",
        &data("ecg.npy"),
    ])
    .ends(0);
    assert!(ran.err.contains("notice: left out: blur: takes an image, which has 2 dimensions, the input has the shape 1024"), "{}", ran.err);
    let ran = nstage(&[
        "run",
        "blur",
        "--device",
        "sim",
        "--input",
        &data("ecg.npy"),
    ])
    .ends(2);
    assert!(
        ran.err.starts_with("error: blur: takes an image"),
        "{}",
        ran.err
    );
}

#[test]
fn geometry_is_as_asked_for() {
    for arguments in [
        &["--block", "64"][..],
        &["--block", "1024", "--tile", "4096"],
        &["--tile", "2048"],
        &["--blocks-per-sm", "1"],
        &["--blocks-per-sm", "7", "--elements", "0"],
        &["--elements", "1"],
    ] {
        let mut all = vec![
            "run",
            "kernel_async_pipeline",
            "--stages",
            "3",
            "--device",
            "sim",
        ];
        all.extend(arguments);
        if !arguments.contains(&"--elements") {
            all.extend(["--elements", "20011"]);
        }
        nstage(&all).ends(0);
    }
}

#[test]
fn ptx_of_a_folder_is_used_instead_of_the_built_in() {
    let folder = tempfile::tempdir().unwrap();
    let ptx = ".version 7.0\n.target sm_80\n.address_size 64\n\
        .visible .entry kernel_sync(.param .u64 y, .param .u64 x, .param .f32 a, .param .u64 n)\n{ ret; }\n";
    std::fs::write(folder.path().join("mine.ptx"), ptx).unwrap();
    let folder = folder.path().to_str().unwrap();
    // The entry does nothing, which the comparison sees.
    let ran = nstage(&[
        "run",
        "kernel_sync",
        "--elements",
        "1000",
        "--device",
        "sim",
        "--ptx",
        folder,
    ])
    .ends(1);
    assert!(ran.out.contains("WRONG"), "{}", ran.out);
    assert!(
        ran.out
            .contains("1000 of 1000 elements wrong; first at index 0: got -2.8735182e-16"),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("pattern: every element, never written"),
        "{}",
        ran.out
    );
    assert!(
        ran.out.ends_with("0 of 1 verified in 0.0 s\n"),
        "{}",
        ran.out
    );
    let ran = nstage(&[
        "run",
        "simple_async",
        "--elements",
        "9",
        "--device",
        "sim",
        "--ptx",
        folder,
    ])
    .ends(2);
    assert!(ran.err.contains("no entry simple_async in"), "{}", ran.err);
}

#[test]
fn an_output_of_a_wrong_result_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let ptx = ".version 7.0\n.target sm_80\n.address_size 64\n\
        .visible .entry kernel_sync(.param .u64 y, .param .u64 x, .param .f32 a, .param .u64 n)\n{ trap; ret; }\n";
    std::fs::write(folder.path().join("mine.ptx"), ptx).unwrap();
    let path = folder.path().to_str().unwrap();
    let output = folder.path().join("y.npy");
    let ran = nstage(&[
        "run",
        "kernel_sync",
        "--elements",
        "10",
        "--device",
        "sim",
        "--ptx",
        path,
        "--output",
        output.to_str().unwrap(),
    ])
    .ends(1);
    assert!(ran.out.contains("trap"), "{}", ran.out);
    assert!(
        ran.err.contains("the output was not written"),
        "{}",
        ran.err
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
