//! The macro that declares kernels.

/// Declares kernels, once, for the device and for the host.
///
/// ```
/// use nstage::{Entry, GlobalMut, GlobalPtr, Launch, Uniform, catalogue::Shape};
///
/// struct Twice;
///
/// // SAFETY: no collective call is made; the launch contract is the kernel's documentation.
/// unsafe impl Entry<twice::Args> for Twice {
///     const SHAPE: Shape = Shape::new();
///     fn run(launch: Launch, args: Uniform<twice::Args>) {
///         let args = args.get();
///         let i = launch.block.global_thread();
///         if i < args.n {
///             // SAFETY: `i` is below `n`, and the launch contract says that both buffers hold `n` elements and are disjoint.
///             unsafe { *args.y.as_raw().add(i as usize) = 2.0 * *args.x.as_raw().add(i as usize) };
///         }
///     }
/// }
///
/// nstage::kernels! {
///     /// All kernels of this crate.
///     pub static CATALOGUE;
///
///     /// y = 2·x, an element a thread.
///     ///
///     /// `y` and `x` hold `n` elements and do not overlap.
///     pub kernel twice(
///         /// The output.
///         y: GlobalMut<f32>,
///         /// The input.
///         x: GlobalPtr<f32>,
///         /// Elements of each.
///         n: u64,
///     ) {
///         "twice" => Twice,
///     }
/// }
///
/// fn main() {
///     let args = twice::Args { y: GlobalMut::new(0x1000), x: GlobalPtr::new(0x2000), n: 4 };
///     assert_eq!(args.n, 4);
///     assert_eq!(CATALOGUE[0].variants[0].entry, "twice");
///     assert_eq!(CATALOGUE[0].summary(), "y = 2·x, an element a thread.");
/// }
/// ```
///
/// On `nvptx64`, each line `"name" => Type` becomes an entry `name` that runs [`Entry::run`](crate::Entry::run) of the type, and a comment line in the PTX
/// (`// nstage-entry: …`) from which the builder takes the entry's directives.
/// On the host, each kernel becomes a module with a `struct Args`, whose fields are the parameters in order, and a `static KERNEL`, which the catalogue lists.
#[macro_export]
macro_rules! kernels {
    (
        $(#[$catalogue_meta:meta])*
        $catalogue_vis:vis static $catalogue:ident;
        $(
            $(#[doc = $doc:literal])*
            $vis:vis kernel $name:ident(
                $( $(#[doc = $param_doc:literal])* $param:ident : $ty:ty ),+ $(,)?
            ) {
                $( $entry:literal => $body:ty ),+ $(,)?
            }
        )+
    ) => {
        $(#[$catalogue_meta])*
        #[cfg(not(target_arch = "nvptx64"))]
        $catalogue_vis static $catalogue: &[&$crate::catalogue::Kernel] = &[$(&$name::KERNEL),+];

        $(
            $(#[doc = $doc])*
            $vis mod $name {
                #[allow(unused_imports, reason = "a kernel may name no type of the module that declares it")]
                use super::*;

                /// The kernel's parameters, in order.
                #[derive(Clone, Copy, Debug)]
                pub struct Args {
                    $( $(#[doc = $param_doc])* pub $param: $ty, )+
                }

                /// The kernel's row of the catalogue.
                #[cfg(not(target_arch = "nvptx64"))]
                pub static KERNEL: $crate::catalogue::Kernel = $crate::catalogue::Kernel {
                    name: stringify!($name),
                    doc: concat!($($doc, "\n"),*).trim_ascii(),
                    params: &[$( $crate::catalogue::Param {
                        name: stringify!($param),
                        ty: <$ty as $crate::param::KernelParam>::TYPE,
                        doc: concat!($($param_doc, "\n"),*).trim_ascii(),
                    } ),+],
                    variants: &[$( $crate::catalogue::Variant::of::<Args, $body>($entry) ),+],
                };

                #[cfg(not(target_arch = "nvptx64"))]
                impl $crate::catalogue::KernelArgs for Args {
                    fn kernel() -> &'static $crate::catalogue::Kernel {
                        &KERNEL
                    }

                    fn visit(&self, visit: &mut dyn FnMut(&$crate::catalogue::Param, &[u8])) {
                        let mut params = KERNEL.params.iter();
                        $(
                            if let Some(param) = params.next() {
                                $crate::param::KernelParam::with_bytes(&self.$param, &mut |bytes| visit(param, bytes));
                            }
                        )+
                    }
                }

                $crate::kernels! { @entries ( $($param: $ty),+ ) $($entry => $body),+ }
            }
        )+
    };
    (@entries $params:tt $($entry:literal => $body:ty),+) => {
        $( $crate::kernels! { @entry $params $entry => $body } )+
    };
    (@entry $params:tt $entry:literal => $body:ty) => {
        $crate::kernels! { @numbered [] $params [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] $entry => $body }
    };
    (@numbered [$($done:tt)*] ( $param:ident : $ty:ty $(, $next:ident : $next_ty:ty)* ) [$index:literal $($more:literal)*] $entry:literal => $body:ty) => {
        $crate::kernels! { @numbered [$($done)* ($index $param $ty)] ( $($next : $next_ty),* ) [$($more)*] $entry => $body }
    };
    (@numbered [$(($index:literal $param:ident $ty:ty))+] () [$($more:literal)*] $entry:literal => $body:ty) => {
        #[cfg(target_arch = "nvptx64")]
        ::core::arch::global_asm!(
            concat!("// nstage-entry: ", $entry, " requires=sm_{} specific={} ptx={}.{} maxntid={} minnctapersm={} maxnreg={} reqnctapercluster={}" $(, " param=", $index, ":align={}")+),
            const <$body as $crate::Entry<Args>>::SHAPE.required().arch,
            const <$body as $crate::Entry<Args>>::SHAPE.required().specific as u32,
            const <$body as $crate::Entry<Args>>::SHAPE.required().ptx.0,
            const <$body as $crate::Entry<Args>>::SHAPE.required().ptx.1,
            const <$body as $crate::Entry<Args>>::SHAPE.maxntid(),
            const <$body as $crate::Entry<Args>>::SHAPE.minnctapersm(),
            const <$body as $crate::Entry<Args>>::SHAPE.maxnreg(),
            const <$body as $crate::Entry<Args>>::SHAPE.reqnctapercluster(),
            $(const <$ty as $crate::param::KernelParam>::ALIGN,)+
        );

        const _: () = {
            // Every variant takes the parameters declared above.
            #[allow(dead_code, reason = "only its type is checked")]
            const RUN: fn($crate::Launch, $crate::Uniform<Args>) = <$body as $crate::Entry<Args>>::run;

            #[cfg(target_arch = "nvptx64")]
            #[unsafe(export_name = $entry)]
            unsafe extern "ptx-kernel" fn entry($($param: <$ty as $crate::param::KernelParam>::Passed),+) {
                $(let $param = {
                    let address: u64;
                    // SAFETY: the parameter of this number has this name in the entry's PTX; where nobody wants its address, the instructions go.
                    unsafe {
                        ::core::arch::asm!(
                            concat!("mov.b64 {0}, ", $entry, "_param_", $index, ";"),
                            "cvta.param.u64 {0}, {0};",
                            out(reg64) address,
                            options(pure, nomem, nostack, preserves_flags),
                        )
                    };
                    <$ty as $crate::param::KernelParam>::received($param, address)
                };)+
                // SAFETY: this is the top of a kernel, reached by every thread once, and parameters are the same for all of them.
                let (launch, args) = unsafe { ($crate::Launch::enter(), $crate::Uniform::assume(Args { $($param),+ })) };
                <$body as $crate::Entry<Args>>::run(launch, args)
            }
        };
    };
}
